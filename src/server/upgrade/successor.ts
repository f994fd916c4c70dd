/**
 * The successor, as the server that starts it has it: the program of the new release, with the same arguments and
 * environment, in a process group of its own, because it outlives its parent's part of the terminal. Messages and sockets go one
 * after the other: the channel carries one socket at a time and waits for the other side's word.
 */
import { fork, type ChildProcess } from 'node:child_process';
import type { Server } from 'node:net';
import { settlesWithin, type Clock } from '../../lib/clock.ts';
import type { SocketHandle } from '../../lib/bound-sockets.ts';
import type { RelayedAnswer, RelayTarget } from '../../gateways/api/request-relay.ts';
import type { SuccessorFacts, SuccessorOrder, SuccessorReport } from './hand-over-messages.ts';

export interface Successor {
  readonly pid: number | null;
  /** Resolves when it has loaded its code and checked its settings. Rejects with a sentence. */
  loaded(msMax: number): Promise<SuccessorFacts>;
  /** Resolves when the order is on its way, behind the ones before it; one of a socket that has closed is not. Rejects when it is gone. */
  order(order: SuccessorOrder, socket?: SocketHandle): Promise<void>;
  /** Resolves, once it serves, to the sessions it has. Rejects with a sentence. */
  ready(msMax: number): Promise<number>;
  readonly relayed: RelayTarget;
  /** Resolves when it is gone. */
  kill(): Promise<void>;
  /** It goes on alone. */
  leave(): void;
}

/** `program`: the file to run, of whatever release it is now. Throws when the machine has no process to give. */
export function startSuccessor(clock: Clock, program: string, args: readonly string[]): Successor {
  return new ChildSuccessor(
    clock,
    fork(program, args, { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
}

class ChildSuccessor implements Successor {
  readonly pid: number | null;
  readonly relayed: RelayTarget;
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  readonly #loaded: Deferred<SuccessorFacts>;
  readonly #ready: Deferred<number>;
  readonly #asked = new Map<number, (answer: RelayedAnswer | null) => void>();
  #lastId = 0;
  #fault: string | null = null;

  constructor(clock: Clock, child: ChildProcess) {
    this.#clock = clock;
    this.#child = child;
    this.pid = child.pid ?? null;
    this.#loaded = deferred();
    this.#ready = deferred();
    this.#ended = new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    void this.#ended.then((how) => this.#gone(how));
    child.on('message', (report: SuccessorReport) => this.#reported(report));
    this.relayed = (request) =>
      new Promise((resolve) => {
        const id = (this.#lastId += 1);
        this.#asked.set(id, resolve);
        this.order({ kind: 'request', id, request }).catch(() => this.#answered(id, null));
      });
  }

  loaded(msMax: number): Promise<SuccessorFacts> {
    return this.#within(msMax, this.#loaded.promise, 'has not loaded');
  }

  ready(msMax: number): Promise<number> {
    return this.#within(msMax, this.#ready.promise, 'does not serve');
  }

  order(order: SuccessorOrder, socket?: SocketHandle): Promise<void> {
    return new Promise((resolve, reject) => {
      // A bare handle goes the way of a server's.
      this.#child.send(order, socket as Server | undefined, undefined, (error) => {
        // What was to be sent may have closed meanwhile.
        if (error === null || (socket !== undefined && this.#child.connected)) resolve();
        else reject(new Error(`the new release is gone: ${this.#fault ?? error.message}`));
      });
    });
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  leave(): void {
    if (this.#child.connected) this.#child.disconnect();
    this.#child.unref();
  }

  async #within<Value>(msMax: number, promise: Promise<Value>, what: string): Promise<Value> {
    const isInTime = await settlesWithin(
      this.#clock,
      msMax,
      promise.catch(() => undefined),
    );
    if (!isInTime) throw new Error(`the new release ${what} within ${msMax / 1000} s`);
    return promise;
  }

  #reported(report: SuccessorReport): void {
    switch (report.kind) {
      case 'loaded':
        return this.#loaded.resolve(report);
      case 'failed':
        this.#fault = report.reason;
        return;
      case 'ready':
        return this.#ready.resolve(report.sessions);
      case 'answer':
        return this.#answered(report.id, report.answer);
    }
  }

  #answered(id: number, answer: RelayedAnswer | null): void {
    this.#asked.get(id)?.(answer);
    this.#asked.delete(id);
  }

  #gone(how: string): void {
    const error = new Error(
      this.#fault ?? `the new release ended while it started: ${how}; its reason is on standard error`,
    );
    this.#loaded.reject(error);
    this.#ready.reject(error);
    for (const id of Array.from(this.#asked.keys())) this.#answered(id, null);
  }
}

interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
}

/** Nobody need wait for it. */
function deferred<Value>(): Deferred<Value> {
  let settle: Omit<Deferred<Value>, 'promise'> = { resolve: () => undefined, reject: () => undefined };
  const promise = new Promise<Value>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => undefined);
  return { promise, ...settle };
}
