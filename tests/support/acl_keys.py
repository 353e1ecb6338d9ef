"""Configuration keys of an emulator that checks users and their rights, as upstream's ACL 2.0 does."""

import json

_AUTH = "org.apache.rocketmq.auth"
ROOT = ("root", "root-secret")
ACL_KEYS: dict[str, str | bool] = {
    "authenticationEnabled": True,
    "authenticationMetadataProvider": f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorizationEnabled": True,
    "authorizationMetadataProvider": f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
    "initAuthenticationUser": json.dumps({"username": ROOT[0], "password": ROOT[1]}),
}
