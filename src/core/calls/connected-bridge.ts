/**
 * A bridge's open leg, from connect to close: idle in the pool or in a call. A bridge that has had a call is never idle again.
 * Source: calls-and-media.md, Legs.
 */
import type { BridgePool } from './bridge-pool.ts';
import { IdleBridge, type BridgeCandidate } from './offered-call.ts';
import type { CallDirectory } from './call-directory.ts';
import type { AliveSign, CallReport, CallSession, LegCloseReason, LegMessage } from '../../model/call.ts';
import type { ApplicationId, SessionId } from '../../model/ids.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { OpenBridgeLeg, PlacedLeg } from '../ports/leg-service.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { mayServe, type BridgeRights } from './leg-admission.ts';
import { presentState, startMessage } from './leg-messages.ts';

export interface ConnectedBridgesDeps {
  readonly directory: CallDirectory;
  /** Already a follower of the directory. */
  readonly pool: BridgePool;
  readonly telemetry: Telemetry;
  readonly maxFps: number;
  readonly bridges: Set<ConnectedBridge>;
}

type Standing =
  | { readonly kind: 'new' | 'closed' }
  | { readonly kind: 'idle'; readonly idle: IdleBridge; readonly rights: BridgeRights }
  | { readonly kind: 'call'; readonly sessionId: SessionId };

/** The directory and the pool identify the leg by this object. */
export class ConnectedBridge implements PlacedLeg, OpenBridgeLeg, BridgeCandidate {
  readonly keySha256: string;
  readonly #deps: ConnectedBridgesDeps;
  readonly #leg: PlacedLeg;
  #standing: Standing = { kind: 'new' };

  /** The caller then calls `standIdle`, `startCall` or `resume`. */
  constructor(deps: ConnectedBridgesDeps, keySha256: string, leg: PlacedLeg) {
    this.#deps = deps;
    this.keySha256 = keySha256;
    this.#leg = leg;
    deps.bridges.add(this);
  }

  get process(): number {
    return this.#leg.process;
  }

  get isIdle(): boolean {
    return this.#standing.kind === 'idle';
  }

  standIdle(rights: BridgeRights): void {
    const idle = new IdleBridge(this, rights.appIds, this.process);
    this.#standing = { kind: 'idle', idle, rights };
    this.#deps.pool.join(idle);
  }

  ask(sessionId: SessionId): void {
    const session = this.#deps.directory.find(sessionId);
    if (session !== null) this.notify({ kind: 'assign', sessionId, media: session.media });
  }

  /** False: the call has ended meanwhile, and nothing has changed. */
  startCall(session: CallSession): boolean {
    if (!this.#connect(session)) return false;
    this.notify(startMessage(session, this.#deps.maxFps));
    this.#notifyState(session);
    return true;
  }

  /** Like `startCall`, for a bridge that has received its start already. */
  resume(session: CallSession): boolean {
    if (!this.#connect(session)) return false;
    this.#notifyState(session);
    return true;
  }

  /** Applies a change of the registry. `rights` null: the key is no longer valid. */
  recheck(rights: BridgeRights | null): void {
    const standing = this.#standing;
    if (rights === null || !this.#isStillAuthorized(rights)) return this.close('revoked');
    if (standing.kind !== 'idle' || sameApplications(standing.rights.appIds, rights.appIds)) return;
    this.#deps.pool.leave(standing.idle);
    this.standIdle(rights);
  }

  answerAssignment(accepted: boolean): void {
    if (this.#standing.kind === 'idle') this.#deps.pool.answer(this.#standing.idle, accepted);
  }

  cannotCarry(why: ReservationRefusal): void {
    if (this.#standing.kind === 'idle') this.#deps.pool.cannotCarry(this.#standing.idle, why);
  }

  report(report: CallReport, about: string | null = null): void {
    const { directory, telemetry } = this.#deps;
    const sessionId = this.#standing.kind === 'call' ? this.#standing.sessionId : null;
    if (sessionId === null || (about !== null && about !== sessionId)) telemetry.callReport('stray');
    else directory.report(sessionId, 'bridge', this, report);
  }

  alive(by: AliveSign): void {
    if (this.#standing.kind === 'call')
      this.#deps.directory.alive(this.#standing.sessionId, 'bridge', this, by);
  }

  notify(message: LegMessage): void {
    this.#leg.notify(message);
  }

  close(reason: LegCloseReason): void {
    if (this.#end()) this.#leg.close(reason);
  }

  disconnected(): void {
    this.#end();
  }

  #connect({ sessionId }: CallSession): boolean {
    const { directory, pool } = this.#deps;
    const before = this.#standing;
    this.#standing = { kind: 'call', sessionId };
    pool.served(sessionId);
    if (directory.connectBridge(sessionId, this)) return true;
    this.#standing = before;
    return false;
  }

  #notifyState(session: CallSession): void {
    const state = presentState(session);
    if (state !== null) this.notify(state);
  }

  #isStillAuthorized(rights: BridgeRights): boolean {
    if (this.#standing.kind !== 'call') return true;
    const session = this.#deps.directory.find(this.#standing.sessionId);
    return session === null || mayServe(rights, session.appId);
  }

  #end(): boolean {
    const { directory, pool, bridges } = this.#deps;
    const standing = this.#standing;
    this.#standing = { kind: 'closed' };
    if (standing.kind === 'idle') pool.leave(standing.idle);
    if (standing.kind === 'call') directory.disconnected(standing.sessionId, 'bridge', this);
    return bridges.delete(this);
  }
}

function sameApplications(
  one: readonly ApplicationId[] | null,
  other: readonly ApplicationId[] | null,
): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((appId) => other.includes(appId));
}
