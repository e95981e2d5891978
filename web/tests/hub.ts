// A real network on this machine: `gleaner up` in a folder of its own, and machines that join it.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { preview, type PreviewServer } from "vite";

export const PROGRAM = process.env.GLEANER ?? resolve(import.meta.dirname, "../../target/release/gleaner");

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (typeof address !== "object" || !address) throw new Error("the system gave no port");
  return address.port;
}

/** The page of web/dist instead of the one in the program, under the same policy, with the hub behind it: `PAGE=built`. */
export async function pageBefore(hub: string): Promise<PreviewServer | null> {
  if (process.env.PAGE !== "built") return null;
  const policy = (await fetch(hub)).headers.get("content-security-policy") ?? "";
  const headers = { "content-security-policy": policy };
  return preview({ root: resolve(import.meta.dirname, ".."), logLevel: "error", preview: { host: "127.0.0.1", port: await freePort(), strictPort: true, headers, proxy: { "/api": { target: hub, ws: true } } } });
}

/** The first line that a process writes to its standard output. */
async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error("its output is read");
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    child.stdout.resume();
    return line;
  }
  throw new Error(`the process ended before it said where it is: ${child.exitCode}`);
}

export class Hub {
  readonly folder = mkdtempSync(join(tmpdir(), "gleaner-page-"));
  private port = 0;
  private process: ChildProcess | null = null;
  private machines: ChildProcess[] = [];
  private page: PreviewServer | null = null;
  /** Where machines find it. */
  private own = "";
  url = "";

  async start(): Promise<void> {
    if (!existsSync(PROGRAM)) throw new Error(`there is no ${PROGRAM}: build it, or name it in GLEANER`);
    this.port ||= await freePort();
    const process = spawn(PROGRAM, ["--dir", this.folder, "up", "--workers", "2", "--listen", `127.0.0.1:${this.port}`], { stdio: ["ignore", "pipe", "inherit"] });
    this.process = process;
    this.own = this.url = (await firstLine(process)).trim();
    this.page ??= await pageBefore(this.own);
    this.url = this.page?.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? this.own;
  }

  /** Processes that the network has started, by their command lines. */
  private children(): { pid: number; command: string[] }[] {
    const parent = this.process?.pid;
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const status = readFileSync(`/proc/${name}/stat`, "utf8");
          const above = Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]);
          const command = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
          return above === parent ? [{ pid: Number(name), command }] : [];
        } catch {
          // It has ended meanwhile.
          return [];
        }
      });
  }

  /** Kills a worker without notice; the network starts another in its place. */
  killWorker(name: string): void {
    const worker = this.children().find(({ command }) => command.includes("share") && command.includes(name));
    if (!worker) throw new Error(`the network has no ${name} to kill`);
    process.kill(worker.pid, "SIGKILL");
  }

  /** Kills the hub without notice; the network starts it again at the same place. */
  killHub(): void {
    const hub = this.children().find(({ command }) => command.includes("hub"));
    if (!hub) throw new Error("the network has no hub of its own");
    process.kill(hub.pid, "SIGKILL");
  }

  /** Shares this machine once more, in the name of whose token it is. */
  share(name: string, tokenFile: string): void {
    const options = ["--dir", join(this.folder, name), "--hub", this.own, "share", "--name", name, "--region", "eu", "--account-token-file", tokenFile, "--dedicated", "--no-gpu", "--no-containers", "--no-blender", "--cpu-slots", "2"];
    this.machines.push(spawn(PROGRAM, options, { stdio: ["ignore", "ignore", "inherit"] }));
  }

  async stop(): Promise<void> {
    await this.page?.close();
    for (const child of [...this.machines, this.process]) {
      if (!child || child.exitCode !== null) continue;
      const ended = new Promise((done) => child.once("exit", done));
      child.kill("SIGINT");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
