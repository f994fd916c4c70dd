/**
 * An upgrade of a whole server: its successor is started, loads and checks its settings while this one serves; the sockets of
 * its sessions are copied to it; then this one drains what cannot be moved, holds what comes, closes the store and lets the
 * successor begin with the sessions. If that does not serve in time, or ends, it is killed and this process goes on with
 * them: the sockets were open here all the time. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import { pause, type Clock } from '../../lib/clock.ts';
import { fail, messageOf, succeed, type Result } from '../../lib/result.ts';
import { continueReading, handleOf } from '../../lib/bound-sockets.ts';
import { relayMsMax, successorLoadMsMax, successorStartMsMax } from '../../model/upgrade-limits.ts';
import { secretMarkSeed } from '../../core/devices/device-access.ts';
import type { Log } from '../../lib/log.ts';
import { storeFormat } from '../../storage/lmdb/store-format.ts';
import type { RunningServer } from '../bootstrap/server.ts';
import type { ProcessTask, UpgradeState } from '../supervisor/process-messages.ts';
import { StateCopy } from './state-copy.ts';
import { handOverVersion, type SuccessorFacts } from './hand-over-messages.ts';
import type { ServerHandOver, TakeOver } from './server-hand-over.ts';
import type { Successor } from './successor.ts';
import type { UpgradeControl, UpgradeKind } from './upgrade-routes.ts';

export interface UpgradeDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Absolute. */
  readonly dataDirectory: string;
  /** As this server listens: its settings with real ports. */
  readonly listeners: ProcessTask['listeners'];
  /** Why this server cannot be upgraded so: a sentence; null: it can. */
  readonly obstacle: string | null;
  /** Throws when the machine has no process to give. */
  startSuccessor(): Successor;
  /** Starts a server of this process with what the last one has left. */
  restart(takeOver: TakeOver): Promise<RunningServer>;
  /** This process has no server any more. */
  handedOver(): void;
  /** Neither has the successor one: the sessions are lost. */
  failed(error: unknown): void;
}

export class Upgrade implements UpgradeControl {
  readonly #deps: UpgradeDeps;
  #server: RunningServer | null = null;
  #underWay: Promise<void> | null = null;
  #failure: string | null = null;
  /** It has nothing of this server yet but copies. */
  #loading: Successor | null = null;
  /** Resolves when no caller is connected to a server that this process had before an upgrade that failed. */
  #earlierApis: Promise<unknown> = Promise.resolve();

  constructor(deps: UpgradeDeps) {
    this.#deps = deps;
  }

  get state(): UpgradeState {
    return { isUnderWay: this.#underWay !== null, failure: this.#failure };
  }

  /** Null: none serves yet, or the sessions are on their way. */
  get server(): RunningServer | null {
    return this.#server;
  }

  serve(server: RunningServer): void {
    this.#server = server;
  }

  begin(): Result<UpgradeKind, string> {
    const { obstacle } = this.#deps;
    const server = this.#server;
    if (obstacle !== null) return fail(obstacle);
    if (server === null || this.#underWay !== null) return fail('an upgrade is under way');
    this.#failure = null;
    this.#underWay = this.#run(server).finally(() => (this.#underWay = null));
    return succeed('sessions');
  }

  /** For a stop: one that is under way ends here, unless the sessions are on their way already. */
  giveUp(): void {
    void this.#loading?.kill();
  }

  /** Resolves when none is under way. */
  async settled(): Promise<void> {
    await this.#underWay;
  }

  async #run(server: RunningServer): Promise<void> {
    const { log } = this.#deps;
    let successor: Successor | null = null;
    let copy: StateCopy;
    try {
      log.info({}, 'an upgrade begins: the new release is started');
      successor = this.#deps.startSuccessor();
      this.#loading = successor;
      const facts = await successor.loaded(successorLoadMsMax);
      this.#check(facts);
      log.info({ pid: facts.pid, version: facts.version }, 'the new release has loaded');
      copy = new StateCopy(successor, server.handOver());
      const copiedMs = this.#deps.clock.monotonicMs();
      await copy.copy();
      const copied_ms = Math.round(this.#deps.clock.monotonicMs() - copiedMs);
      log.info({ sockets: copy.sockets, copied_ms }, 'the sockets of the sessions are with both');
    } catch (error) {
      this.#loading = null;
      await successor?.kill();
      return this.#failed(error);
    }
    this.#loading = null;
    await this.#move(successor, copy);
  }

  /** Throws a sentence. */
  #check({ handOver, storeFormat: format, dataDirectory }: SuccessorFacts): void {
    if (handOver !== handOverVersion)
      throw new Error('the new release takes no sessions over from this one: stop the server, and start it');
    if (format !== storeFormat)
      throw new Error('the new release has another format of the store: stop the server, and start it');
    if (dataDirectory !== this.#deps.dataDirectory)
      throw new Error('data.dir has changed: stop the server, and start it');
  }

  /** From here on this process has a server only if it makes one again. */
  async #move(successor: Successor, copy: StateCopy): Promise<void> {
    const { log } = this.#deps;
    const { leaving } = copy;
    this.#server = null;
    if (leaving.isEncrypted)
      log.warn({}, 'sleep sessions are TLS, which no other process can go on with: they are drained');
    const left = new LeftServer(leaving);
    try {
      await this.#handOver(successor, copy, left);
    } catch (error) {
      await successor.kill();
      this.#failed(error);
      return this.#goOn(left);
    }
    await this.#passOn(successor, leaving);
    this.#deps.handedOver();
    await Promise.all([this.#endApi(leaving), this.#earlierApis]);
    successor.leave();
  }

  async #handOver(successor: Successor, copy: StateCopy, left: LeftServer): Promise<void> {
    const { clock, log, listeners } = this.#deps;
    await this.#drain(copy);
    await copy.copy();
    const heldMs = clock.monotonicMs();
    const takeOver = await left.letGo();
    await Promise.all([copy.finish(takeOver), left.close()]);
    await successor.order({
      kind: 'take-over',
      predecessor: process.pid,
      secretMarkSeed: secretMarkSeed(),
      listeners,
    });
    const sessions = await successor.ready(successorStartMsMax);
    const held_ms = Math.round(clock.monotonicMs() - heldMs);
    log.info(
      { pid: successor.pid, sessions, of: takeOver.sessions.length, held_ms },
      'the new release serves',
    );
  }

  /** It may take as long as a drain at a stop does. */
  async #drain(copy: StateCopy): Promise<void> {
    const sweep = (): void => void copy.closeEnded().catch(() => undefined);
    const stop = this.#deps.clock.every(sweepMs, sweep);
    await copy.leaving.drain().finally(stop);
  }

  async #passOn(successor: Successor, leaving: ServerHandOver): Promise<void> {
    await leaving.stopListening();
    leaving.relay.relayTo(successor.relayed);
    leaving.passConnectionsOn((socket) => {
      const handle = handleOf(socket);
      const passed = handle === null ? Promise.resolve() : successor.order({ kind: 'connection' }, handle);
      void passed.catch(() => undefined).then(() => socket.destroy());
    });
    leaving.finish();
  }

  #failed(error: unknown): void {
    this.#failure = messageOf(error);
    this.#deps.log.error({ reason: this.#failure }, 'not upgraded; this release goes on');
  }

  /** This process has the sockets still, and makes a server of them. */
  async #goOn(left: LeftServer): Promise<void> {
    const { leaving } = left;
    try {
      const takeOver = await left.letGo();
      await left.close();
      leaving.abandonPending();
      const server = await this.#deps.restart(takeOver);
      this.#server = server;
      await leaving.stopListening();
      leaving.relay.relayTo(server.relayed);
      leaving.passConnectionsOn((socket) => {
        continueReading(socket);
        server.takeConnection(socket);
      });
      this.#earlierApis = Promise.all([this.#earlierApis, this.#endApi(leaving)]);
    } catch (fatal) {
      this.#deps.failed(fatal);
    }
  }

  /** Callers that have a connection here are answered through it, once each; who asks nothing is cut by the library in time. */
  async #endApi(leaving: ServerHandOver): Promise<void> {
    const { clock } = this.#deps;
    const endMs = clock.monotonicMs() + relayMsMax;
    while (leaving.connectionCount > 0 && clock.monotonicMs() < endMs) await pause(clock, relayTickMs);
    await leaving.closeApi();
  }
}

const relayTickMs = 100;
const sweepMs = 1000;

/** A server on its way out. Each step is taken once, whoever asks for it first. */
class LeftServer {
  readonly leaving: ServerHandOver;
  #takeOver: Promise<TakeOver> | null = null;
  #closed: Promise<void> | null = null;

  constructor(leaving: ServerHandOver) {
    this.leaving = leaving;
  }

  letGo(): Promise<TakeOver> {
    return (this.#takeOver ??= this.leaving.hold().then(() => this.leaving.letGo()));
  }

  close(): Promise<void> {
    return (this.#closed ??= this.leaving.close());
  }
}
