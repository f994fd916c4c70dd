/**
 * The size of the code, as docs/hacking.md explains it:
 *
 *   npm run -s figures             files, lines, the largest folder, exported values that only tests import
 *   npm run -s figures -- walks    the files that a wakeup and a sleep login run through, on a server process
 */
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { readSources, resolveImport, sourceFile, type SourceFile } from '../architecture/source-tree.ts';
import { checkout, readFromRoot } from './checkout.ts';
import { ApiClient } from './api-client.ts';
import { startServerProcess, type ServerProcess } from './server-process.ts';
import { lastFirst, temporaryDirectory, type Ending } from './temporary-store.ts';
import { testCredentials, writeTestRegistry } from './test-server.ts';

interface WalkedFiles {
  /** Paths from `src/`, sorted. */
  readonly login: readonly string[];
  readonly wakeup: readonly string[];
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

/** Long enough for the commit behind an answer, and for every timer of an idle server to come by. */
const windowMs = 3000;

async function walkedFiles(t: Ending): Promise<WalkedFiles> {
  const ending = lastFirst(t);
  const directory = temporaryDirectory(ending);
  const settings = [`data.dir=${directory}`, `registry.file=${await writeTestRegistry(directory)}`];
  const server = await startServerProcess(ending, settings, { NODE_OPTIONS: '--inspect=127.0.0.1:0' });
  const calls = await CallCounter.attach(ending, server);
  const api = new ApiClient(server.ports.api, testCredentials.all);
  ending.after(() => api.close());
  const idle = await calls.during(() => pause(windowMs));
  const login = await calls.during(async () => {
    const credentials = { deviceId: 'SLEEPING01', secret: 'secret of SLEEPING01' };
    const module = await SleepingModule.connect(server.ports.sleep, credentials);
    ending.after(() => module.close());
    await pause(windowMs);
  });
  const wakeup = await calls.during(async () => {
    const { status } = await api.wake({ device_id: 'SLEEPING01' });
    if (status !== 202) throw new Error(`the wakeup was answered ${status}`);
    await pause(windowMs);
  });
  return { login: filesOf(login, idle), wakeup: filesOf(wakeup, idle) };
}

/** `called` without the calls of an idle server, as files. */
function filesOf(called: ReadonlySet<string>, idle: ReadonlySet<string>): string[] {
  const files = [...called].filter((call) => !idle.has(call)).map((call) => call.replace(/:\d+$/, ''));
  return [...new Set(files)].sort();
}

/** The inspector of a server process; each function called is `path:offset`. */
class CallCounter {
  readonly #socket: WebSocket;
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async attach(t: Ending, { command }: ServerProcess): Promise<CallCounter> {
    const url = /ws:\/\/\S+/.exec(command.stderr)?.[0];
    if (url === undefined) throw new Error(`no inspector: ${command.stderr}`);
    const socket = new WebSocket(url);
    t.after(() => socket.terminate());
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const counter = new CallCounter(socket);
    await counter.#ask('Profiler.enable');
    await counter.#ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    return counter;
  }

  async during(act: () => Promise<void>): Promise<Set<string>> {
    await this.#ask('Profiler.takePreciseCoverage');
    await act();
    const { result } = (await this.#ask('Profiler.takePreciseCoverage')) as Coverage;
    const sources = new URL('src/', checkout).href;
    const calls = result
      .filter(({ url }) => url.startsWith(sources))
      .flatMap(({ url, functions }) =>
        functions
          .map(({ ranges: [range] }) => range)
          .filter((range) => range !== undefined && range.startOffset > 0 && range.count > 0)
          .map((range) => `${url.slice(sources.length)}:${range?.startOffset}`),
      );
    return new Set(calls);
  }

  #ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      this.#socket.on('message', function answer(this: WebSocket, text: Buffer) {
        const message = JSON.parse(text.toString()) as { id?: number; result?: unknown; error?: unknown };
        if (message.id !== id) return;
        this.off('message', answer);
        if (message.error === undefined) resolve(message.result);
        else reject(new Error(`${method}: ${JSON.stringify(message.error)}`));
      });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }
}

export interface LargestFolder {
  readonly folder: string;
  readonly files: number;
}

export function largestFolder(files: readonly SourceFile[]): LargestFolder {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const [folder = '', count = 0] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
  return { folder, files: count };
}

const exportedValue =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|enum) +([\w$]+)/gm;

/**
 * `path: name` of each value (not type) that a file of `src/` exports, a file of `test/` imports, and no other file does.
 * Imports are read as text: a namespace or dynamic import counts as one of every name. The exports of a `*-worker.ts` are
 * left out: their thread calls them by name.
 */
export function testOnlyExports(files: readonly SourceFile[]): string[] {
  const byTests = importedNames(files.filter(isTest));
  const byOthers = importedNames(files.filter((file) => !isTest(file)));
  return files
    .filter(({ path }) => path.startsWith('src/') && !path.endsWith('-worker.ts'))
    .flatMap(({ path, code }) =>
      Array.from(code.matchAll(exportedValue), ([, name = '']) => name)
        .filter((name) => imports(byTests, path, name) && !imports(byOthers, path, name))
        .map((name) => `${path}: ${name}`),
    );
}

function isTest({ path }: SourceFile): boolean {
  return path.startsWith('test/');
}

type ImportedNames = ReadonlyMap<string, ReadonlySet<string>>;

function imports(names: ImportedNames, path: string, name: string): boolean {
  return names.get(path)?.has(name) === true || names.get(path)?.has('*') === true;
}

const importForm =
  /^(?:import|export)\s+(?:type\s+)?(?:\{([^}]*)\}|\*(?:\s+as\s+\w+)?)\s*from\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

function importedNames(files: readonly SourceFile[]): ImportedNames {
  const names = new Map<string, Set<string>>();
  for (const { path, code } of files)
    for (const [, list, from, loaded] of code.matchAll(importForm)) {
      const target = resolveImport(path, from ?? loaded ?? '');
      if (target === null) continue;
      const found = names.get(target) ?? new Set();
      for (const name of list === undefined ? ['*'] : listedNames(list)) found.add(name);
      names.set(target, found);
    }
  return names;
}

/** Of `a, b as c, type D`: a, b and D. */
function listedNames(list: string): string[] {
  return list
    .split(',')
    .map((entry) =>
      entry
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*$/, ''),
    )
    .filter((name) => name !== '');
}

function readFolder(folder: string): SourceFile[] {
  return readdirSync(new URL(folder, checkout), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => sourceFile(folder + name, readFromRoot(folder + name)));
}

function testLines(): number {
  return readdirSync(new URL('test/', checkout), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFromRoot(`test/${name}`).split('\n').length - 1)
    .reduce((sum, lines) => sum + lines, 0);
}

function printSizes(): void {
  const sources = readSources();
  const { folder, files } = largestFolder(sources);
  const others = ['test/', 'bench/', 'docs/examples/'].flatMap(readFolder);
  const unused = testOnlyExports([...sources, ...others]);
  console.log(`files in src                            ${sources.length}`);
  console.log(
    `lines of code in src                    ${sources.reduce((sum, file) => sum + file.codeLines, 0)}`,
  );
  console.log(`files in the largest folder             ${files} (${folder})`);
  console.log(`lines in test                           ${testLines()}`);
  console.log(`exported values that only tests import  ${unused.length}`);
  for (const name of unused) console.log(`  ${name}`);
}

async function printWalks(): Promise<void> {
  const ends: (() => void | Promise<void>)[] = [];
  try {
    const { login, wakeup } = await walkedFiles({ after: (end) => void ends.push(end) });
    printWalk('a wakeup', wakeup);
    printWalk('a sleep login', login);
  } finally {
    for (const end of ends) await end();
  }
}

function printWalk(name: string, files: readonly string[]): void {
  const layers = [...new Set(files.map((file) => file.split('/', 1)[0]))];
  const counts = layers.map(
    (layer) => `${layer} ${files.filter((file) => file.startsWith(`${layer}/`)).length}`,
  );
  console.log(`${name} runs through ${files.length} files: ${counts.join(', ')}`);
  console.log(files.map((file) => `  ${file}\n`).join(''));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'walks') await printWalks();
  else printSizes();
}
