/**
 * The successor, as the server that starts it has it, and the way to it: a child, where the server is one process, or by the
 * supervisor of several. Messages and sockets go one after the other: a channel between processes carries one socket at a time
 * and waits for the other side's word.
 */
import { fork, type ChildProcess } from 'node:child_process';
import type { Server } from 'node:net';
import { settlesWithin, type Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import type { SocketHandle } from '../../lib/bound-sockets.ts';
import type { RelayedAnswer } from '../../gateways/api/api-request.ts';
import type { RelayTarget } from '../../gateways/api/request-relay.ts';
import type { SuccessorFacts, SuccessorOrder, SuccessorReport } from './hand-over-messages.ts';

/** The way to a successor. */
export interface SuccessorLine {
  /** Once, before anything comes. */
  follow(follower: SuccessorFollower): void;
  /** Resolves when the order is on its way, behind the ones before it; one of a socket that has closed is not. Rejects when it is gone. */
  send(order: SuccessorOrder, socket?: SocketHandle): Promise<void>;
  kill(): void;
  /** It goes on alone. */
  leave(): void;
}

export interface SuccessorFollower {
  readonly reported: (report: SuccessorReport) => void;
  /** Once; `how`: in a few words. */
  readonly ended: (how: string) => void;
}

export type Successor = Pick<
  LinkedSuccessor,
  'pid' | 'loaded' | 'order' | 'ready' | 'relayed' | 'kill' | 'leave'
>;

export class LinkedSuccessor {
  readonly relayed: RelayTarget;
  readonly #clock: Clock;
  readonly #line: SuccessorLine;
  readonly #ended = deferred<string>();
  readonly #loaded = deferred<SuccessorFacts>();
  readonly #ready = deferred<number>();
  readonly #asked = new Map<number, (answer: RelayedAnswer | null) => void>();
  #pid: number | null = null;
  #lastId = 0;
  #fault: string | null = null;

  constructor(clock: Clock, line: SuccessorLine) {
    this.#clock = clock;
    this.#line = line;
    line.follow({
      reported: (report) => this.#reported(report),
      ended: (how) => this.#gone(how),
    });
    this.relayed = (request) =>
      new Promise((resolve) => {
        const id = (this.#lastId += 1);
        this.#asked.set(id, resolve);
        this.order({ kind: 'request', id, request }).catch(() => this.#answered(id, null));
      });
  }

  /** Null: it has not loaded. */
  get pid(): number | null {
    return this.#pid;
  }

  /** Resolves when it has loaded its code and checked its settings. Rejects with a sentence. */
  loaded(msMax: number): Promise<SuccessorFacts> {
    return this.#within(msMax, this.#loaded.promise, 'has not loaded');
  }

  /** Resolves, once it serves, to the sessions it has. Rejects with a sentence. */
  ready(msMax: number): Promise<number> {
    return this.#within(msMax, this.#ready.promise, 'does not serve');
  }

  /** As its line sends it. Rejects with a sentence. */
  async order(order: SuccessorOrder, socket?: SocketHandle): Promise<void> {
    try {
      await this.#line.send(order, socket);
    } catch (error) {
      throw new Error(`the new release is gone: ${this.#fault ?? messageOf(error)}`, { cause: error });
    }
  }

  /** Resolves when it is gone. */
  async kill(): Promise<void> {
    this.#line.kill();
    await this.#ended.promise;
  }

  /** It goes on alone. */
  leave(): void {
    this.#line.leave();
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
        this.#pid = report.pid;
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
    this.#ended.resolve(how);
    this.#loaded.reject(error);
    this.#ready.reject(error);
    for (const id of Array.from(this.#asked.keys())) this.#answered(id, null);
  }
}

/**
 * The program of the new release, with the same arguments and environment, in a process group of its own, because it outlives its
 * parent's part of the terminal. `program`: the file to run, of whatever release it is now. Throws when the machine has no
 * process to give.
 */
export function startSuccessor(clock: Clock, program: string, args: readonly string[]): Successor {
  const child = fork(program, args, { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return new LinkedSuccessor(clock, new ChildLine(child));
}

class ChildLine implements SuccessorLine {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  follow({ reported, ended }: SuccessorFollower): void {
    this.#child.once('error', (error) => ended(error.message));
    this.#child.once('exit', (code, signal) => ended(signal ?? `exit code ${code}`));
    this.#child.on('message', reported);
  }

  send(order: SuccessorOrder, socket?: SocketHandle): Promise<void> {
    return new Promise((resolve, reject) => {
      // A bare handle goes the way of a server's.
      this.#child.send(order, socket as Server | undefined, undefined, (error) => {
        // What was to be sent may have closed meanwhile.
        if (error === null || (socket !== undefined && this.#child.connected)) resolve();
        else reject(error);
      });
    });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  leave(): void {
    if (this.#child.connected) this.#child.disconnect();
    this.#child.unref();
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
