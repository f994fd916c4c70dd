/**
 * The placement of a device's calls: the member that issued the first of them keeps them while it lives. An issuing
 * member asks here first, and from then on, before there is a session, others are sent to it. A member that lets a leg
 * in to a call that is kept elsewhere takes the call over, as long as nobody is connected to it there: both legs of a
 * call meet in one media process. Source: cluster.md, Media.
 */
import type { CallDirectory } from './call-directory.ts';
import type { CallSession } from '../../model/call.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { callClaimsMax, callPlacementMsMax } from '../../model/limits.ts';
import type { PeerAnswer } from '../../model/peer.ts';
import type { CallPlacements, KeptCalls } from '../ports/records.ts';
import type { Log } from '../ports/log.ts';
import { othersAlive, type Peers } from '../ports/peers.ts';

export interface CallPlacementDeps {
  readonly log: Log;
  readonly directory: CallDirectory;
  readonly peers: Pick<Peers, 'self' | 'alive' | 'isAlive' | 'ask'>;
  readonly placements: CallPlacements;
  /** The log of all says so. Rejects while the log here is behind, or cannot be read. */
  isEnded(deviceId: DeviceId, sessionId: SessionId): Promise<boolean>;
}

/** The member that keeps a device's calls. `unavailable`: not known, or the claim to them was lost to others. */
export type CallCoordinator = 'here' | 'unavailable' | MemberId;

export interface CallLocation {
  readonly member: CallCoordinator;
  /** The live sessions as all members see them, which may be behind; empty where nobody else can keep them. */
  readonly sessions: readonly CallSession[];
}

/** Over all lives of a process: a member without its incarnation. */
function processOf(member: MemberId): string {
  return member.slice(0, member.lastIndexOf('@'));
}

const here: CallLocation = { member: 'here', sessions: [] };

export class CallPlacement {
  readonly #deps: CallPlacementDeps;
  /** How many issuances are under way here, by device. */
  readonly #issuing = new Map<DeviceId, number>();
  /** Sessions that this member has written to the shared rows last. As many as it had when it lost them to others, at most. */
  readonly #shared = new Map<DeviceId, ReadonlySet<SessionId>>();

  constructor(deps: CallPlacementDeps) {
    this.#deps = deps;
  }

  /** The sessions that an earlier life of this process has written to the shared rows last. Before any is ended here. */
  resume(deviceId: DeviceId, sessions: readonly CallSession[]): void {
    this.#noteShared(deviceId, sessions);
  }

  /**
   * Where the device's next session is to be issued; `here`: it is claimed for this member, until `settled`. Never
   * rejects.
   */
  coordinatorOf(deviceId: DeviceId): CallCoordinator | Promise<CallCoordinator> {
    this.#beginIssuing(deviceId);
    return this.#hasCalls(deviceId) ? 'here' : this.#coordinatorToIssue(deviceId);
  }

  /** The issuance that `coordinatorOf` has sent here is done, or refused: without a call the device is anybody's again. */
  settled(deviceId: DeviceId): void {
    if (this.#endIssuing(deviceId) && !this.#hasCalls(deviceId)) this.#release(deviceId);
  }

  /** Who keeps the device's calls, for their end; those of a lost member are taken up here. Never rejects. */
  async locate(deviceId: DeviceId): Promise<CallLocation> {
    if (this.#hasCalls(deviceId)) return here;
    const { placements, peers, log } = this.#deps;
    try {
      const kept = await placements.find(deviceId, callPlacementMsMax);
      if (kept === null) return here;
      const { coordinator, sessions } = kept;
      if (this.#isOwn(coordinator)) return { member: 'here', sessions };
      if (peers.isAlive(coordinator)) return { member: coordinator, sessions };
      const member =
        sessions.length === 0 ? 'here' : await this.#claim(deviceId, (now) => this.#isTheirs(now));
      return { member, sessions };
    } catch (error) {
      log.warn({ err: error }, 'cannot tell which member keeps the calls of a device');
      return { member: 'unavailable', sessions: [] };
    }
  }

  /** The device's live sessions, as another member keeps them. Rejects with SharedStateUnavailable. */
  async sessionsOf(deviceId: DeviceId): Promise<readonly CallSession[]> {
    const kept = await this.#deps.placements.find(deviceId, callPlacementMsMax);
    return kept === null || this.#isOwn(kept.coordinator) ? [] : kept.sessions;
  }

  /** Brings here, if possible, a session that a leg wants to connect to. `deviceId` null: not known. Never rejects. */
  async fetch(sessionId: SessionId, deviceId: DeviceId | null): Promise<void> {
    const { peers } = this.#deps;
    for (const member of othersAlive(peers)) {
      const asked = await peers.ask<'take-calls'>(
        member,
        { kind: 'take-calls', sessionId },
        callPlacementMsMax,
      );
      if (!asked.ok || asked.value.kind === 'absent') continue;
      if (asked.value.kind === 'given') await this.#take(asked.value.deviceId, asked.value.sessions);
      return;
    }
    if (deviceId !== null) await this.#claim(deviceId, (kept) => this.#isTheirs(kept));
  }

  /** Answers another member's question: gives up the calls of the session's device. */
  give(sessionId: SessionId): PeerAnswer<'take-calls'> {
    const { directory } = this.#deps;
    const session = directory.find(sessionId);
    if (session === null) return { kind: 'absent' };
    const { deviceId } = session;
    const sessions = directory.release(deviceId);
    return sessions === null ? { kind: 'in-use' } : { kind: 'given', deviceId, sessions };
  }

  /** Takes up the calls of a member that is gone: they wait here for their legs. Rejects with SharedStateUnavailable. */
  async takeOver(member: MemberId): Promise<number> {
    let taken = 0;
    for await (const { deviceId, coordinator, sessions } of this.#deps.placements.all()) {
      if (coordinator !== member || sessions.length === 0) continue;
      if ((await this.#claim(deviceId, (kept) => kept.coordinator !== member)) === 'here')
        taken += sessions.length;
    }
    return taken;
  }

  /**
   * Writes the calls that this member keeps to the shared rows. Where another member keeps them by now, nothing is written, and
   * they are gone from here; it tells how they end. False: so it does of `about`, which is not to be told from here. Rejects
   * with SharedStateUnavailable.
   */
  async save(
    deviceId: DeviceId,
    sessions: readonly CallSession[],
    about: SessionId | null = null,
  ): Promise<boolean> {
    const { placements, peers } = this.#deps;
    for (let attempt = 0; attempt < callClaimsMax; attempt++) {
      const kept = await placements.find(deviceId, callPlacementMsMax);
      if (kept !== null && !this.#isOwn(kept.coordinator)) {
        if (this.#hasCalls(deviceId)) await this.#leave(deviceId, kept);
        // Nothing comes behind what was left to the others.
        else if (sessions.length === 0 && about === null) this.#shared.delete(deviceId);
        return about === null || !(await this.#isTheirsToTell(kept, deviceId, about));
      }
      const own = {
        coordinator: peers.self,
        sessions,
        isIssuing: sessions.length === 0 && this.#isAwaited(deviceId),
      };
      this.#notePut(deviceId, sessions);
      if ((await placements.put(deviceId, own, kept?.revision ?? null)) === 'conflict') continue;
      this.#noteShared(deviceId, sessions);
      return true;
    }
    throw new Error(`the calls of a device were changed ${callClaimsMax} times while they were written`);
  }

  /**
   * The calls that are here, against what all share: after a start, after an outage, and when this member was called lost. What
   * another member keeps by now is gone from here. Never rejects; false: it is to be done again.
   */
  async reconcile(): Promise<boolean> {
    const { directory, log } = this.#deps;
    const devices = new Set(Array.from(directory.sessions(), ({ deviceId }) => deviceId));
    try {
      for (const deviceId of devices)
        if (this.#hasCalls(deviceId)) await this.save(deviceId, directory.sessionsOf(deviceId));
      return true;
    } catch (error) {
      log.debug({ err: error }, 'calls cannot be compared yet with what all share; tried on');
      return false;
    }
  }

  /** Another member has given them, and its claim is taken over whatever it says. */
  async #take(deviceId: DeviceId, sessions: readonly CallSession[]): Promise<void> {
    this.#beginIssuing(deviceId);
    const coordinator = await this.#claim(deviceId, () => false);
    if (coordinator === 'here') this.#deps.directory.adopt(deviceId, sessions);
    this.settled(deviceId);
  }

  /** Makes this member the coordinator unless `isOthers` forbids it; the calls of the former coordinator come along. */
  async #claim(deviceId: DeviceId, isOthers: (kept: KeptCalls) => boolean): Promise<CallCoordinator> {
    const { placements, peers, directory, log } = this.#deps;
    try {
      for (let attempt = 0; attempt < callClaimsMax; attempt++) {
        const kept = await placements.find(deviceId, callPlacementMsMax);
        if (kept !== null && isOthers(kept)) return kept.coordinator;
        const sessions = kept === null || this.#isOwn(kept.coordinator) ? [] : kept.sessions;
        const own = { coordinator: peers.self, sessions, isIssuing: this.#issuing.has(deviceId) };
        if ((await placements.put(deviceId, own, kept?.revision ?? null)) === 'conflict') continue;
        this.#noteShared(deviceId, sessions);
        if (sessions.length > 0) directory.adopt(deviceId, sessions);
        return 'here';
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot tell which member keeps the calls of a device');
    }
    return 'unavailable';
  }

  #isTheirs({ coordinator, sessions, isIssuing }: KeptCalls): boolean {
    const { peers } = this.#deps;
    return !this.#isOwn(coordinator) && (sessions.length > 0 || isIssuing) && peers.isAlive(coordinator);
  }

  /** This member's, or an earlier life's of it, whose calls it has taken up from its store. */
  #isOwn(coordinator: MemberId): boolean {
    return processOf(coordinator) === processOf(this.#deps.peers.self);
  }

  /** Another member has the session in its row, or had it from there, and ends it by itself. */
  async #isTheirsToTell({ sessions }: KeptCalls, deviceId: DeviceId, about: SessionId): Promise<boolean> {
    return (
      sessions.some(({ sessionId }) => sessionId === about) ||
      this.#shared.get(deviceId)?.has(about) === true ||
      (await this.#deps.isEnded(deviceId, about))
    );
  }

  /** Leaves the device's calls to the member that keeps them. One that it has never had ends here. */
  async #leave(deviceId: DeviceId, kept: KeptCalls): Promise<void> {
    const { directory } = this.#deps;
    for (const { sessionId } of directory.sessionsOf(deviceId))
      if (!(await this.#isTheirsToTell(kept, deviceId, sessionId))) directory.end(sessionId, 'replaced');
    directory.abandon(deviceId);
  }

  /** A write that is not acknowledged may hold: what it leaves out may be gone from the row by this member's own hand. */
  #notePut(deviceId: DeviceId, sessions: readonly CallSession[]): void {
    const shared = this.#shared.get(deviceId);
    if (shared === undefined) return;
    const put = sessions.map(({ sessionId }) => sessionId);
    this.#shared.set(deviceId, new Set(put.filter((sessionId) => shared.has(sessionId))));
  }

  #noteShared(deviceId: DeviceId, sessions: readonly CallSession[]): void {
    if (sessions.length === 0) this.#shared.delete(deviceId);
    else this.#shared.set(deviceId, new Set(sessions.map(({ sessionId }) => sessionId)));
  }

  async #coordinatorToIssue(deviceId: DeviceId): Promise<CallCoordinator> {
    const coordinator = await this.#claim(deviceId, (kept) => this.#isTheirs(kept));
    if (coordinator !== 'here') this.#endIssuing(deviceId);
    return coordinator;
  }

  #beginIssuing(deviceId: DeviceId): void {
    this.#issuing.set(deviceId, (this.#issuing.get(deviceId) ?? 0) + 1);
  }

  /** True: it was the last one under way. */
  #endIssuing(deviceId: DeviceId): boolean {
    const left = (this.#issuing.get(deviceId) ?? 0) - 1;
    if (left > 0) this.#issuing.set(deviceId, left);
    else this.#issuing.delete(deviceId);
    return left <= 0;
  }

  /** A session is, or will be, on its way to the shared rows. */
  #isAwaited(deviceId: DeviceId): boolean {
    return this.#issuing.has(deviceId) || this.#hasCalls(deviceId);
  }

  /** A failure leaves the claim as it is: others go on asking this member while it lives. */
  #release(deviceId: DeviceId): void {
    this.save(deviceId, []).catch((error: unknown) =>
      this.#deps.log.warn({ err: error }, 'cannot give up a claim to the calls of a device'),
    );
  }

  #hasCalls(deviceId: DeviceId): boolean {
    return this.#deps.directory.sessionsOf(deviceId).length > 0;
  }
}
