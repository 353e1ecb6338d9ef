"""A client that uses name server, broker and control API once.

    client.py NAMESRV CONTROL_URL     for example: client.py rocketmq:9876 http://rocketmq:8090

It queries the route of a topic, sends a message to the broker of the route, and reads it through the control API.
"""

import json
import sys
import time
import urllib.request
from typing import Any

from rocketmq_testkit.conformance.clients.remoting_sends import send_v1_request
from rocketmq_testkit.conformance.clients.remoting_topics import route_request
from rocketmq_testkit.remoting.client import RemotingClient

TOPIC = "sidecar-check"


def call(url: str, content: Any = None) -> Any:
    """Send a request to the control API and return its JSON."""
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def main(namesrv: str, control: str) -> int:
    """Send and find one message; return 0 if the message was found."""
    call(f"{control}/v1/topics", {"name": TOPIC, "queues": 1})
    with RemotingClient(namesrv) as client:
        route = client.request(*route_request(TOPIC, acceptStandardJsonOnly="true"))
    address = json.loads(route.body)["brokerDatas"][0]["brokerAddrs"]["0"]
    body = f"sent at {time.time()}".encode()
    with RemotingClient(address) as client:
        sent = client.request(*send_v1_request(TOPIC, body, born_ms=int(time.time() * 1000)))
    if sent.code != 0:
        print(f"the broker refused the message: {sent.remark}", file=sys.stderr)
        return 1
    found = [message["text"] for message in call(f"{control}/v1/messages/{TOPIC}")["messages"]]
    print(json.dumps({"broker": address, "messages": found}))
    return 0 if body.decode() in found else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: client.py NAMESRV CONTROL_URL")
    sys.exit(main(sys.argv[1], sys.argv[2]))
