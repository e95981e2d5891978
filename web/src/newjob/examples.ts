// Job files to begin with. The first needs nothing but what the page brings itself, so that any hub can price and run it; a
// container's image has to come from a registry.
import program from "../../../examples/array/primes.wasm?url";
import type { Picked } from "./folder";
import { plainPath } from "./jobfile";

const PROGRAM = "primes.wasm";

/** Counts primes with a small WebAssembly program, which {@link exampleFiles} brings. */
export const PRIMES = `name = "primes"

[budget]
price_max = "0.1 GLN"          # never costs more; what is not used comes back
time_max = "10m"

[[task]]
name = "primes"
runtime = "wasm"
program = "${PROGRAM}"        # a small program that counts primes; it comes with this page
each = "0..7"                  # eight tasks, numbered 0 to 7
args = ["{index}", "100000"]   # {index} becomes the task's number
time_max = "2m"                # of one task
`;

/** The same with blanks, for a template. */
export const PRIMES_TEMPLATE = PRIMES.replace('each = "0..7"                  # eight tasks, numbered 0 to 7', 'each = "0..{{tasks - 1}}"      # {{tasks}} becomes an input of the form').replace('"100000"]  ', '"{{size}}"]');

/** A program in a container. */
export const CONTAINER = `name = "hello"

[budget]
price_max = "0.1 GLN"          # never costs more; what is not used comes back
time_max = "10m"

[[task]]
name = "hello"
runtime = "container"
each = "0..3"                  # four tasks, numbered 0 to 3

[task.container]
# The image comes from this registry. Where the hub cannot ask it what a tag means, name the image by its digest:
# docker.io/library/python@sha256:...
image = "docker.io/library/python:3.12-slim"
command = ["python3", "-c", "print('hello from task {index}', file=open('/out/hello.txt', 'w'))"]
`;

/** What the first example reads. */
export async function exampleFiles(): Promise<Picked[]> {
  const answer = await fetch(program);
  if (!answer.ok) throw new Error("The example's program is not there: the hub may have a newer page, so load this one again.");
  return [{ path: PROGRAM, file: new File([await answer.blob()], PROGRAM) }];
}

/** A job file for a folder that has none: it runs the folder's program, if there is no doubt which one that is. */
export function exampleFor(paths: string[]): string {
  const programs = paths.map(plainPath).filter((path) => path.endsWith(".wasm"));
  return programs.length === 1 ? PRIMES.replace(/^program = .*$/m, `program = "${programs[0]}"`) : CONTAINER;
}
