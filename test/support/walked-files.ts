/**
 * The files of `src/` that one wakeup, or one sleep login, runs through: a server process is asked over Node's inspector
 * which functions were called between two moments, by V8's precise coverage. A function that an idle server calls too is
 * left out, and so is a module's top level. Signatures are verified inline, since coverage is of the main thread.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { ApiClient } from './api-client.ts';
import { checkout } from './checkout.ts';
import { startServerProcess, type ServerProcess } from './server-process.ts';
import { lastFirst, temporaryDirectory, type Ending } from './temporary-store.ts';
import { testCredentials, writeTestRegistry } from './test-server.ts';

export interface WalkedFiles {
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

export async function walkedFiles(t: Ending): Promise<WalkedFiles> {
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
