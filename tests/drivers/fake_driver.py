"""A driver without an SDK: it reads commands and writes replies, and its verbs make it misbehave."""

import json
import os
import sys
import time
from typing import Any


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def main() -> None:
    stubborn = "--stubborn" in sys.argv
    if "--broken" in sys.argv:
        print("no configuration found", file=sys.stderr)
        sys.exit(3)
    held: list[int] = []
    for line in sys.stdin:
        command = json.loads(line)
        number = command["i"]
        match command["do"]:
            case "hello":
                about = {"verbs": ["hello", "exit"], "modes": ["pop"], "outcomes": ["throw"]}
                say(i=number, ok=True, ms=0.1, **about, arguments=sys.argv[1:])
            case "echo":
                say(i=number, ok=True, ms=0.1, command=command, home=os.environ["HOME"])
            case "refuse":
                say(i=number, ok=False, kind="BadRequestException", code=40011, err="too small")
            case "hold":
                held.append(number)
            case "release":
                for each in [number, *reversed(held)]:
                    say(i=each, ok=True, ms=0.1)
            case "event":
                for n in range(command["count"]):
                    say(ev="msg", of=command["of"], t=n, ok=True, msg={"body": "aGk=", "n": n})
                say(i=number, ok=True, ms=0.1)
            case "mutter":
                print("this is not JSON", flush=True)
                say(i=number, ok=True, ms=0.1)
            case "die":
                print("the last words", file=sys.stderr, flush=True)
                os._exit(7)
            case "exit" if not stubborn:
                say(i=number, ok=True, ms=0.1)
                sys.exit(0)
    while stubborn:
        time.sleep(1)


if __name__ == "__main__":
    main()
