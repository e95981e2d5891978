"""Names of things that exist, in half of all paths: what is made up finds nothing, and would never get past that. And nobody
waits long for what may never come."""

import base64
import json
import os
import zlib

import schemathesis

THINGS = json.loads(base64.b64decode(os.environ["GLEANER_THINGS"]))


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if not path_parameters:
        return path_parameters
    # By what was made up and not by chance, so that a seed always gives the same requests.
    number = zlib.crc32(repr(sorted(path_parameters.items(), key=str)).encode())
    if number % 2:
        return path_parameters
    known = {name: THINGS[name][number // 2 % len(THINGS[name])] for name in path_parameters if THINGS.get(name)}
    return {**path_parameters, **known}


@schemathesis.hook
def map_query(context, query):
    if query and isinstance(query.get("wait"), int) and query["wait"] > 1:
        return {**query, "wait": 1}
    if query and query.get("follow"):
        return {**query, "follow": "false"}
    return query
