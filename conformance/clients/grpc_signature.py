"""Signatures of gRPC clients.

Source: Signature of the 5.x clients, DefaultAuthenticationContextBuilder (5.3.3).
"""

import time
from hashlib import sha1
from hmac import new as hmac

from rocketmq_testkit.remoting.client import Credentials

DATE_TIME = "x-mq-date-time"


def authorization(credentials: Credentials, date_time: str | None = None) -> dict[str, str]:
    """Return the headers that sign a call: date and time, signature, and session token if there is one.

    `date_time` is opaque to the server; the default is the current time.
    """
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) if date_time is None else date_time
    signature = hmac(credentials.secret_key.encode(), moment.encode(), sha1).hexdigest().upper()
    parts = f"Credential={credentials.access_key}, SignedHeaders={DATE_TIME}, Signature={signature}"
    headers = {DATE_TIME: moment, "authorization": f"MQv2-HMAC-SHA1 {parts}"}
    if credentials.security_token is not None:
        headers["x-mq-session-token"] = credentials.security_token
    return headers
