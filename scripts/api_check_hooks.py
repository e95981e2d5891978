"""Names of things that exist, in half of all paths: what is made up finds nothing, and would never get past that. And nobody
waits long for what may never come. Each request comes from an address of its own, and what it was answered is written down."""

import base64
import itertools
import json
import os
import zlib

import schemathesis

THINGS = json.loads(base64.b64decode(os.environ["GLEANER_THINGS"]))
STATUSES = open(os.environ["GLEANER_STATUSES"], "a", buffering=1)
REQUESTS = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    case.path_parameters = known(case.path_parameters)
    number = next(REQUESTS)
    case.headers = {**(case.headers or {}), "X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
    if case.query and str(case.query.get("wait", "")).isdigit():
        case.query["wait"] = min(int(case.query["wait"]), 1)
    if case.query and case.query.get("follow"):
        case.query["follow"] = "false"


@schemathesis.hook
def after_call(context, case, response):
    STATUSES.write(f"{response.status_code}\n")


def known(path_parameters):
    if not path_parameters:
        return path_parameters
    # By what was made up and not by chance, so that a seed always gives the same requests.
    number = zlib.crc32(repr(sorted(path_parameters.items(), key=str)).encode())
    if number % 2:
        return path_parameters
    names = {name: THINGS[name][number // 2 % len(THINGS[name])] for name in path_parameters if THINGS.get(name)}
    return {**path_parameters, **names}
