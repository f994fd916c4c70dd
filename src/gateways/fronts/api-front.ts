/**
 * One front: its own app on the API's port, which checks every request up to its parameters. It makes no decisions and stores
 * nothing. Source: scale-out.md, API fronts.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { HttpConnections, httpConnectionsTickMs } from '../../lib/connections/http-connections.ts';
import { LinkLog } from '../../lib/link/link-log.ts';
import { messageOf } from '../../lib/result.ts';
import { frontHeartbeatMs, frontLogBounds } from '../../model/http-limits.ts';
import type { AccessKeyId } from '../../model/ids.ts';
import { addressesCountedMax } from '../../model/limits.ts';
import type { Credential } from '../../model/registry.ts';
import { SigningKeyCache } from '../../protocol/tgv1/signature.ts';
import { ApiPort } from '../api/api-port.ts';
import { Authenticator } from '../api/authenticator.ts';
import { Pipeline } from '../api/pipeline.ts';
import { apiRoutes } from '../api/routes.ts';
import { inlineVerifier } from '../verification/late-verifier.ts';
import { FrontDispatcher } from './front-dispatcher.ts';
import {
  frontCounters,
  frontSockets,
  type FrontOrder,
  type FrontStart,
  type SendToCore,
  type ToFront,
} from './front-messages.ts';

export class ApiFront {
  readonly #send: SendToCore;
  readonly #counters: Int32Array;
  readonly #log: LinkLog;
  readonly #credentials = new Map<AccessKeyId, Credential>();
  readonly #signingKeys = new SigningKeyCache();
  readonly #connections: HttpConnections;
  readonly #dispatcher: FrontDispatcher;
  readonly #pipeline: Pipeline;
  readonly #port: ApiPort;
  readonly #timers: readonly Cancel[];
  #isDraining = false;

  /** Throws if TLS is configured and its files are invalid. */
  constructor(start: FrontStart, clock: Clock, send: SendToCore) {
    const { perAddressMax, listen, tls, rules, verification } = start;
    this.#send = send;
    this.#counters = new Int32Array(start.counters);
    const log = new LinkLog(frontLogBounds, send, () => false);
    const max = (): number => this.#counters[frontCounters.connectionsMax] ?? 0;
    const connections = new HttpConnections({ max, perAddressMax }, addressesCountedMax);
    const registry = { findCredential: (id: AccessKeyId) => this.#credentials.get(id) ?? null };
    const signingKeys = this.#signingKeys;
    const checks = { clock, log, registry, signingKeys, verifier: inlineVerifier };
    const dispatcher = new FrontDispatcher(apiRoutes, send);
    this.#log = log;
    this.#connections = connections;
    this.#dispatcher = dispatcher;
    this.#pipeline = new Pipeline({
      routes: apiRoutes,
      rules,
      authenticator: new Authenticator(checks, verification),
      dispatcher,
      log,
      connections,
      isDraining: () => this.#isDraining,
    });
    this.#port = new ApiPort({ listen, tls, sharesPort: true }, connections, clock);
    this.#timers = [
      clock.every(frontHeartbeatMs, () => this.#publish()),
      clock.every(httpConnectionsTickMs, () => this.#turn()),
    ];
  }

  receive(message: ToFront): void {
    switch (message.kind) {
      case 'replies':
        return this.#dispatcher.replied(message.taken, message.rows);
      case 'serve':
        this.#isDraining = message.isDraining;
        this.#addCredentials(message.credentials);
        return this.#port.serve(this.#pipeline.handle);
      case 'credentials':
        return this.#change(message);
      default:
        return void this.#answer(message);
    }
  }

  /** Closes every socket, so that the thread can end. */
  leave(): void {
    for (const cancel of this.#timers) cancel();
    this.#port.close();
    this.#publish();
    Atomics.store(this.#counters, frontCounters.sockets, frontSockets.closed);
    Atomics.notify(this.#counters, frontCounters.sockets);
  }

  async #answer({ kind, ask }: FrontOrder): Promise<void> {
    const error = await this.#obey(kind).then(() => null, messageOf);
    this.#publish();
    this.#send({ kind: 'done', ask, error });
  }

  async #obey(order: FrontOrder['kind']): Promise<void> {
    if (order === 'listen') return this.#listen();
    if (order === 'stop-listening') return this.#port.stopListening();
    if (order === 'idle') return this.#port.idle();
    if (order === 'reload-tls') return this.#port.reloadTls();
    if (order === 'close') return this.leave();
    this.#isDraining = order === 'drain';
  }

  /** Rejects if the address is unavailable. Does nothing once the process is exiting. */
  async #listen(): Promise<void> {
    const { unopened, open } = frontSockets;
    if (Atomics.compareExchange(this.#counters, frontCounters.sockets, unopened, open) !== unopened) return;
    await this.#port.listen();
  }

  #change({ ask, isWhole, set, removed }: ToFront & { kind: 'credentials' }): void {
    if (isWhole) this.#credentials.clear();
    if (isWhole) this.#signingKeys.purgeAll();
    for (const accessKeyId of [...removed, ...set.map((credential) => credential.accessKeyId)]) {
      this.#credentials.delete(accessKeyId);
      this.#signingKeys.purge(accessKeyId);
    }
    this.#addCredentials(set);
    this.#send({ kind: 'done', ask, error: null });
  }

  #addCredentials(credentials: readonly Credential[]): void {
    for (const credential of credentials) this.#credentials.set(credential.accessKeyId, credential);
  }

  #publish(): void {
    Atomics.add(this.#counters, frontCounters.progress, 1);
    this.#counters[frontCounters.connections] = this.#connections.count;
    this.#counters[frontCounters.refused] = this.#connections.refused;
    this.#counters[frontCounters.evicted] = this.#connections.evicted;
    this.#counters[frontCounters.waitingCalls] = this.#dispatcher.waitingCalls;
    this.#counters[frontCounters.refusedCalls] = this.#dispatcher.refusedCalls;
  }

  #turn(): void {
    this.#connections.turn();
    this.#log.heartbeat();
  }
}
