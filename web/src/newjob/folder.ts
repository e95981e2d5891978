// Files that somebody dropped or chose, with their paths within what was dropped.

export interface Picked {
  path: string;
  file: File;
}

export interface Folder {
  name: string;
  files: Picked[];
}

const FILES_MAX = 20_000;
const LEFT_OUT = new Set([".git", "node_modules", "__pycache__", "target", ".DS_Store"]);

/** Whether a path is something that nobody means to send. */
export function isLeftOut(path: string): boolean {
  return path.split("/").some((part) => LEFT_OUT.has(part));
}

/** A name that the hub takes for an upload. */
export function uploadName(name: string): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return plain.slice(0, 60) || "files";
}

/** What was chosen with a file dialog: of a folder, paths begin with its name. */
export function fromList(list: Iterable<File>): Folder {
  const files = [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
  const tops = new Set(files.map(({ path }) => (path.includes("/") ? path.slice(0, path.indexOf("/")) : "")));
  const top = tops.size === 1 ? ([...tops][0] as string) : "";
  const within = top ? files.map(({ path, file }) => ({ path: path.slice(top.length + 1), file })) : files;
  return { name: uploadName(top || withoutEnding(files[0]?.path ?? "files")), files: within.filter(({ path }) => !isLeftOut(path)) };
}

function withoutEnding(name: string): string {
  return name.replace(/\.[^.]+$/, "");
}

/** What was dropped onto the page: files, or one folder and all that is in it. */
export async function fromDrop(items: DataTransferItemList): Promise<Folder> {
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const only = entries.length === 1 ? entries[0] : undefined;
  const files: Picked[] = [];
  for (const entry of entries) await gather(entry, only?.isDirectory ? "" : entry.name, files);
  return { name: uploadName(only?.isDirectory ? only.name : withoutEnding(entries[0]?.name ?? "files")), files };
}

async function gather(entry: FileSystemEntry, path: string, files: Picked[]): Promise<void> {
  if (isLeftOut(path)) return;
  if (files.length >= FILES_MAX) throw new Error(`More than ${FILES_MAX} files: put them into one archive, or use the command line.`);
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    files.push({ path, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A reader gives a hundred entries at a time, and nothing at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const one of some) await gather(one, path ? `${path}/${one.name}` : one.name, files);
  }
}
