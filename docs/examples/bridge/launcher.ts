/**
 * Keeps bridges idle: one process each, one call a process. When one takes a call, another takes its place; when one dies
 * in a call, another comes back to that call; what fails to start is tried again, ever more slowly.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface LauncherSettings {
  /** Of the media listener: `ws://host:port` or `wss://host:port`. */
  readonly url: string;
  readonly key: string;
  /** Path of a module that exports a PhoneSource. */
  readonly source: string;
  /** Bridges that wait for a call. */
  readonly idle: number;
  /** Bridges in all, those in calls among them; at the most, fewer wait. */
  readonly processesMax: number;
  readonly log: (step: string, fields?: object) => void;
}

/** What a bridge's process tells its launcher. */
export interface BridgeNews {
  readonly event: string;
  readonly session: string | null;
}

interface Held {
  readonly child: ChildProcess;
  session: string | null;
  /** Times that its call was come back to. */
  readonly returns: number;
}

const pauseMsMin = 500;
const pauseMsMax = 30_000;
/** A call whose process dies so often is given up: it is what it carries that kills it. */
const returnsMax = 3;
const refusedCode = 3;
/** Given to calls when the launcher is told to stop; then they are cut. */
const partingMsMax = 10_000;

export class Launcher {
  readonly #settings: LauncherSettings;
  readonly #held = new Set<Held>();
  #pauseMs = pauseMsMin;
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;
  #failed: (error: Error) => void = () => undefined;
  /** Rejects when the key is refused: nothing that is tried again would help. */
  readonly failed: Promise<never>;

  constructor(settings: LauncherSettings) {
    this.#settings = settings;
    this.failed = new Promise((_, reject) => (this.#failed = reject));
    this.failed.catch(() => undefined);
  }

  start(): void {
    this.#fill();
  }

  /** Bridges that wait for a call, and those in one. */
  get counts(): { readonly idle: number; readonly busy: number } {
    const busy = [...this.#held].filter(({ session }) => session !== null).length;
    return { idle: this.#held.size - busy, busy };
  }

  /** Idle bridges go at once, calls are hung up; resolves when no process is left. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    const cut = setTimeout(() => this.#signal('SIGKILL'), partingMsMax);
    this.#signal('SIGTERM');
    await Promise.all(
      [...this.#held].map(({ child }) => new Promise((resolve) => child.once('exit', resolve))),
    );
    clearTimeout(cut);
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    for (const { child } of this.#held) child.kill(signal);
  }

  #fill(): void {
    const { idle, processesMax } = this.#settings;
    while (this.counts.idle < idle && this.#held.size < processesMax) this.#launch(null, 0);
  }

  #launch(session: string | null, returns: number): void {
    const { url, key, source, log } = this.#settings;
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      BRIDGE_URL: url,
      BRIDGE_KEY: key,
      BRIDGE_SOURCE: source,
    };
    if (session !== null) env['BRIDGE_SESSION'] = session;
    const child = fork(fileURLToPath(import.meta.resolve('./bridge-process.ts')), [], { env });
    const held: Held = { child, session, returns };
    this.#held.add(held);
    child.on('message', (news: BridgeNews) => this.#hear(held, news));
    child.once('exit', (code, signal) => this.#exited(held, code, signal));
    child.on('error', (error) => log('bridge.failed', { reason: error.message }));
  }

  #hear(held: Held, { event, session }: BridgeNews): void {
    this.#settings.log(`bridge.${event}`, { session, process: held.child.pid });
    if (event === 'idle') this.#pauseMs = pauseMsMin;
    if (event !== 'assigned') return;
    held.session = session;
    this.#fill();
  }

  #exited(held: Held, code: number | null, signal: string | null): void {
    const { session, returns } = held;
    this.#held.delete(held);
    if (this.#isStopping) return;
    if (code === refusedCode)
      return this.#failed(new Error('the server refuses the key of the bridges: BRIDGE_KEY'));
    if (code === 0) return this.#fill();
    this.#settings.log('bridge.died', { session, code, signal });
    if (session !== null && returns < returnsMax) this.#launch(session, returns + 1);
    else this.#fillLater();
  }

  /** What cannot start now is not started in a loop; by chance sooner or later, so that hosts do not come back together. */
  #fillLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fill(), this.#pauseMs * (0.5 + Math.random()));
    this.#pauseMs = Math.min(this.#pauseMs * 2, pauseMsMax);
  }
}
