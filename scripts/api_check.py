"""Runs schemathesis over the OpenAPI document of a network that it starts itself, as several callers.

A whole network (`gleaner up`: a hub with a chain and a desk, and a worker) gets an account, tokens and a finished job, so that
there is something to ask for. Then every operation is asked by each caller, with examples that fit the document and with
ones that do not. The seed is fixed, so that a failure comes again. Requests come from many addresses, as through a proxy, and
no faster than an account may ask: who is only told to wait has checked nothing, so a caller that hears that too often fails.
"""

import argparse
import base64
import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEED = 7
STARTS_WITHIN_S = 120
JOB_ENDS_WITHIN_S = 120
ANSWERS_WITHIN_S = 20
# Below what the hub lets an account ask.
REQUESTS_PER_S = 95
# Answers of one caller that may be `429 Too Many Requests`, of a hundred.
TOLD_TO_WAIT_PERCENT_MAX = 2
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
]
# Streams that end when the listener leaves: the hub's own tests listen to them.
STREAMS = ["/api/v1/live/events"]
# What would end the session that asks, or the account that has it.
ENDS_SESSION = ["sign_out", "sign_up", "end_other_sessions"]
JOB = """\
name = "counted"
[budget]
price_max = "0.1 GLN"
[[task]]
name = "primes"
runtime = "wasm"
program = "primes.wasm"
each = "0..3"
args = ["{index}", "1000"]
"""


class Hub:
    """A running network, and requests to its hub."""

    def __init__(self, url: str, folder: Path):
        self.url = url
        self.operator = (folder / "hub/api.token").read_text().strip()
        # Loopback is asked directly, whatever the environment says of proxies.
        self.open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    def ask(self, method: str, path: str, body=None, headers=None):
        """An answer's JSON and headers; fails on refusals."""
        headers = dict(headers or {})
        data = body
        if isinstance(body, (dict, list)):
            data, headers["content-type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with self.open(request, timeout=ANSWERS_WITHIN_S) as response:
                text = response.read()
                return (json.loads(text) if text else None), response.headers
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")


@contextlib.contextmanager
def network():
    """Starts a network in a folder of its own, and ends it."""
    program = os.environ["GLEANER_BIN"]
    with tempfile.TemporaryDirectory(prefix="gleaner-api-") as folder:
        log = open(Path(folder) / "up.log", "wb")
        command = [program, "--dir", folder, "up", "--workers", "1", "--listen", "127.0.0.1:0", "--behind-proxy"]
        up = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        try:
            url = up.stdout.readline().decode().strip()
            if not url.startswith("http"):
                sys.exit(f"no network came up: {url}\n{(Path(folder) / 'up.log').read_text()}")
            yield Hub(url, Path(folder))
            panics = [line for log_file in sorted((Path(folder) / "logs").glob("*.log"))
                      for line in log_file.read_text(errors="replace").splitlines() if "panicked" in line]
            if panics:
                sys.exit("something has panicked:\n" + "\n".join(panics))
            if up.poll() is not None:
                sys.exit(f"the network has ended:\n{(Path(folder) / 'up.log').read_text()}")
        finally:
            up.send_signal(signal.SIGINT)
            try:
                up.wait(STARTS_WITHIN_S)
            except subprocess.TimeoutExpired:
                os.killpg(up.pid, signal.SIGKILL)
            log.close()


def sign_up(hub: Hub, name: str):
    """A session's headers, and a token with every scope."""
    said = {"name": name, "passphrase": "wind over the old mill", "roles": ["requester", "provider"]}
    view, headers = hub.ask("POST", "/api/v1/accounts", said)
    session = {"Cookie": headers["set-cookie"].split(";")[0], "X-Gleaner-CSRF": view["csrf"]}
    scopes = {"read": True, "submit": True, "provide": True, "spend": "10"}
    wanted = {"label": "api-check", "scopes": scopes, "ends_at": int(time.time() * 1000) + 24 * 3600 * 1000}
    made, _ = hub.ask("POST", "/api/v1/account/tokens", wanted, session)
    return session, made["text"]


def finished_job(hub: Hub, session) -> int:
    """A job of the account that has been run and paid for."""
    program = (ROOT / "examples/array/primes.wasm").read_bytes()
    hub.ask("PUT", "/api/v1/files/work/primes.wasm", program, session)
    key = {"idempotency-key": "a-job", **session}
    ordered, _ = hub.ask("POST", "/api/v1/desk/jobs", {"job": JOB, "folder": "work"}, key)
    deadline = time.monotonic() + JOB_ENDS_WITHIN_S
    while time.monotonic() < deadline:
        job, _ = hub.ask("GET", f"/api/v1/jobs/{ordered['job']}", None, session)
        if job["state"] in ("done", "failed", "cancelled"):
            if job["state"] != "done":
                sys.exit(f"the job is {job['state']}: {job}")
            return ordered["job"]
        time.sleep(0.1)
    sys.exit("the job has not ended")


def things(hub: Hub, session, job: int) -> dict:
    """What there is, by the names that paths have for it."""
    bearer = {"Authorization": f"Bearer {hub.operator}"}
    datasets, _ = hub.ask("GET", "/api/v1/datasets", None, bearer)
    workers, _ = hub.ask("GET", "/api/v1/workers")
    catalogue, _ = hub.ask("GET", "/api/v1/catalogue")
    return {
        "job": [job],
        "worker": [worker["id"] for worker in workers["items"]],
        "root": [dataset["data"]["root"]["id"] for dataset in datasets["items"]][:3],
        "template": [template["name"] for template in catalogue["items"]][:3],
        "task": ["primes"],
        "index": [0, 1],
        "group": [0],
        "round": [0, 1],
        "name": ["work"],
        "path": ["primes.wasm"],
        "user": ["somebody"],
        "id": [1, 2],
        "account": [99],
        "action": ["pause", "resume"],
    }


def run(hub: Hub, who: str, headers: dict, excluded: list, args, hooks_env: dict) -> bool:
    """Every operation as one caller."""
    print(f"== {who}", flush=True)
    command = [
        str(Path(sys.executable).parent / "schemathesis"), "run", f"{hub.url}/api/v1/openapi.json",
        "--checks", ",".join(CHECKS), "--seed", str(SEED), "--max-examples", str(args.examples),
        "--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--no-shrink",
        "--suppress-health-check", "all", "--request-timeout", str(ANSWERS_WITHIN_S), "--warnings", "off",
        "--generation-database", "none", "--generation-with-security-parameters", "false", "--no-color",
        "--rate-limit", f"{REQUESTS_PER_S}/s",
    ]
    for name, value in headers.items():
        command += ["--header", f"{name}: {value}"]
    for path in STREAMS:
        command += ["--exclude-path", path]
    for operation in excluded:
        command += ["--exclude-operation-id", operation]
    if args.only:
        command += ["--include-operation-id-regex", args.only]
    with tempfile.NamedTemporaryFile("r", prefix="gleaner-api-statuses-") as statuses:
        told = {"GLEANER_STATUSES": statuses.name, "NO_PROXY": "*", "no_proxy": "*"}
        fine = subprocess.run(command, env={**os.environ, **hooks_env, **told}, cwd=ROOT / "scripts").returncode == 0
        return was_answered(who, collections.Counter(statuses.read().split())) and fine


def was_answered(who: str, statuses: collections.Counter) -> bool:
    """Says what a caller was answered, and whether it was more than to wait."""
    asked, told_to_wait = statuses.total(), statuses["429"]
    counts = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    print(f"{who} asked {asked} times: {counts}", flush=True)
    if asked == 0 or 100 * told_to_wait > TOLD_TO_WAIT_PERCENT_MAX * asked:
        print(f"{who} was told to wait {told_to_wait} times of {asked}: at most {TOLD_TO_WAIT_PERCENT_MAX} % may be")
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=8, help="examples of each operation for each caller [8]")
    parser.add_argument("--only", help="operations whose id this regular expression finds")
    parser.add_argument("--as", dest="callers", action="append", help="one caller of: nobody, session, token, operator")
    args = parser.parse_args()
    began, fine = time.monotonic(), True
    with network() as hub:
        session, token = sign_up(hub, "orchard")
        found = things(hub, session, finished_job(hub, session))
        hooks = {"SCHEMATHESIS_HOOKS": "api_check_hooks", "PYTHONPATH": str(ROOT / "scripts"),
                 "GLEANER_THINGS": base64.b64encode(json.dumps(found).encode()).decode()}
        callers = [
            ("nobody", {}, []),
            ("token", {"Authorization": f"Bearer {token}"}, []),
            ("session", session, ENDS_SESSION),
            # Last: the operator may remove what the others ask for.
            ("operator", {"Authorization": f"Bearer {hub.operator}"}, []),
        ]
        for who, headers, excluded in callers:
            if not args.callers or who in args.callers:
                fine = run(hub, who, headers, excluded, args, hooks) and fine
        hub.ask("GET", "/api/v1/health")
    print(f"the API was asked for {time.monotonic() - began:.0f} s: {'as declared' if fine else 'NOT as declared'}")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
