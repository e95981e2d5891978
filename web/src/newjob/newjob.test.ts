import { describe, expect, it } from "vitest";
import { Unreachable } from "../api/http";
import { blanks, guess, ownFiles } from "../catalogue/blanks";
import { fromList, isLeftOut, type Picked, uploadName } from "./folder";
import { CONTAINER, exampleFor, PRIMES, PRIMES_TEMPLATE } from "./examples";
import { findJobFile, missing, named, readJobFile } from "./jobfile";
import { PIECE_BYTES, type Store, upload } from "./upload";

const SURVEY = `
name = "survey"
[budget]
price_max = "1 GLN"
[[task]]
name = "survey"
runtime = "wasm"
program = "./survey.wasm"
[[task.input]]
name = "data"
folder = "measurements"
`;

function readable(source: string) {
  const read = readJobFile(source);
  if (!read.ok) throw new Error(read.reason);
  return read.file;
}

describe("a job file", () => {
  it("tells its name, cap and tasks", () => {
    expect(readable(SURVEY)).toMatchObject({ name: "survey", cap: "1 GLN", tasks: [{ name: "survey", runtime: "wasm" }] });
  });

  it("that is broken names the line", () => {
    expect(readJobFile('name = "a"\nbudget = = 1')).toMatchObject({ ok: false, line: 2 });
    expect(readJobFile('name = "a"')).toMatchObject({ ok: false, line: null });
  });

  it("sends only files that it names, and all of the folders", () => {
    const paths = ["job.toml", "survey.wasm", "measurements/a.csv", "measurements/deep/b.csv", "notes/secret.txt"];
    expect(named(readable(SURVEY), paths)).toEqual(["survey.wasm", "measurements/a.csv", "measurements/deep/b.csv"]);
  });

  it("says which files are not there", () => {
    expect(missing(readable(SURVEY), ["other.wasm"])).toEqual(["survey.wasm"]);
    expect(missing(readable(SURVEY), ["survey.wasm"])).toEqual([]);
  });

  it("is found in a folder if there is no doubt which one it is", () => {
    expect(findJobFile(["a.toml", "job.toml"])).toBe("job.toml");
    expect(findJobFile(["a.toml", "deep/b.toml"])).toBe("a.toml");
    expect(findJobFile(["a.toml", "b.toml"])).toBeNull();
  });
});

describe("an example", () => {
  it("to begin with needs nothing but the program that the page brings", () => {
    expect(missing(readable(PRIMES), ["primes.wasm"])).toEqual([]);
    expect(named(readable(PRIMES), ["primes.wasm"])).toEqual(["primes.wasm"]);
    expect(readable(PRIMES)).toMatchObject({ cap: "0.1 GLN", tasks: [{ runtime: "wasm" }] });
  });

  it("for a template has the same with blanks", () => {
    expect(blanks(PRIMES_TEMPLATE)).toEqual(["tasks", "size"]);
    expect(blanks(PRIMES_TEMPLATE).map((name) => guess(PRIMES_TEMPLATE, name))).toEqual(["integer", "text"]);
    expect(ownFiles(PRIMES_TEMPLATE, ["primes.wasm"])).toEqual(["primes.wasm"]);
  });

  it("of a container names the registry of its image", () => {
    expect(readable(CONTAINER).tasks[0]?.runtime).toBe("container");
    expect(CONTAINER).toContain('image = "docker.io/');
  });

  it("for a folder runs the one program in it", () => {
    expect(missing(readable(exampleFor(["notes.txt", "survey.wasm"])), ["survey.wasm"])).toEqual([]);
    expect(exampleFor(["a.wasm", "b.wasm"])).toBe(CONTAINER);
  });
});

describe("a folder", () => {
  it("loses its own name and what nobody means to send", () => {
    const file = (path: string) => Object.defineProperty(new File([""], "x"), "webkitRelativePath", { value: path });
    const folder = fromList([file("My job/job.toml"), file("My job/.git/config"), file("My job/in/a.csv")]);
    expect(folder.name).toBe("My-job");
    expect(folder.files.map(({ path }) => path)).toEqual(["job.toml", "in/a.csv"]);
    expect(isLeftOut("a/node_modules/b.js")).toBe(true);
  });

  it("gets a name that the hub takes", () => {
    expect(uploadName("Häuser & Bäume")).toBe("Hauser-Baume");
    expect(uploadName("../..")).toBe("files");
  });
});

class Fake implements Store {
  here = new Map<string, number>();
  sent: [string, number, number][] = [];
  breaks = 0;
  arrived = (_: string, path: string) => Promise.resolve(this.here.get(path) ?? 0);
  bring = (_: string, path: string, __: number, piece: { bytes: Blob; first: number }) => {
    if (this.breaks-- > 0) return Promise.reject(new Unreachable());
    this.sent.push([path, piece.first, piece.bytes.size]);
    const end = piece.first + piece.bytes.size;
    this.here.set(path, end);
    return Promise.resolve(end);
  };
  pause = () => Promise.resolve();
}

describe("an upload", () => {
  const picked = (path: string, size: number): Picked => ({ path, file: new File([new Uint8Array(size)], path) });
  const run = async (store: Fake, files: Picked[]) => {
    const told: number[] = [];
    await upload("job", files, ({ sent }) => told.push(sent), new AbortController().signal, store);
    return told;
  };

  it("goes in pieces and tells how far it is", async () => {
    const store = new Fake();
    const told = await run(store, [picked("a", PIECE_BYTES + 5), picked("b", 3)]);
    expect(store.sent).toEqual([["a", 0, PIECE_BYTES], ["a", PIECE_BYTES, 5], ["b", 0, 3]]);
    expect(told.at(-1)).toBe(PIECE_BYTES + 8);
  });

  it("goes on where it stopped, and sends nothing twice", async () => {
    const store = new Fake();
    store.here.set("a", PIECE_BYTES).set("b", 3);
    await run(store, [picked("a", PIECE_BYTES + 5), picked("b", 3)]);
    expect(store.sent).toEqual([["a", PIECE_BYTES, 5]]);
  });

  it("tries again while the hub is away", async () => {
    const store = new Fake();
    store.breaks = 2;
    await run(store, [picked("a", 4)]);
    expect(store.sent).toEqual([["a", 0, 4]]);
  });

  it("gives up on a hub that keeps nothing of it", async () => {
    const store = new Fake();
    store.bring = () => Promise.resolve(0);
    await expect(run(store, [picked("a", 4)])).rejects.toThrow("does not get further");
  });

  it("brings empty files too", async () => {
    const store = new Fake();
    await run(store, [picked("empty", 0)]);
    expect(store.sent).toEqual([["empty", 0, 0]]);
  });
});
