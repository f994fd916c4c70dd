/**
 * The placement of a device's calls: the member that issued the first of them keeps them while it lives. An issuing
 * member asks here first, and from then on, before there is a session, others are sent to it. A member that lets a leg
 * in to a call that is kept elsewhere takes the call over, as long as nobody is connected to it there: both legs of a
 * call meet in one media process. Source: cluster.md, Media.
 */
import type { Clock } from '../../lib/clock.ts';
import type { CallDirectory } from './call-directory.ts';
import type { CallSession } from '../../model/call.ts';
import { processOf, type MemberId } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { callClaimsMax, callPlacementMsMax } from '../../model/limits.ts';
import type { PeerAnswer } from '../../model/peer.ts';
import { SharedStateUnavailable } from '../ports/session-locator.ts';
import { GivenCalls } from './given-calls.ts';
import { OpenIssuances } from './open-issuances.ts';
import { SharedSessions } from './shared-sessions.ts';
import type { CallPlacements, KeptCalls } from '../ports/records.ts';
import type { Log } from '../ports/log.ts';
import { othersAlive, type Peers } from '../ports/peers.ts';

export interface CallPlacementDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  readonly directory: CallDirectory;
  readonly peers: Pick<Peers, 'self' | 'alive' | 'isAlive' | 'ask'>;
  readonly placements: CallPlacements;
  /** The log of all says so. Rejects while the log here is behind, or cannot be read. */
  readonly isEnded: (deviceId: DeviceId, sessionId: SessionId) => Promise<boolean>;
}

/** The member that keeps a device's calls. `unavailable`: not known, or the claim to them was lost to others. */
export type CallCoordinator = 'here' | 'unavailable' | MemberId;

export interface CallLocation {
  readonly member: CallCoordinator;
  /** The live sessions as all members see them, which may be behind; empty where nobody else can keep them. */
  readonly sessions: readonly CallSession[];
}

const here: CallLocation = { member: 'here', sessions: [] };

export class CallPlacement {
  readonly #deps: CallPlacementDeps;
  readonly #issuing = new OpenIssuances();
  readonly #shared = new SharedSessions();
  readonly #given: GivenCalls;

  constructor(deps: CallPlacementDeps) {
    this.#deps = deps;
    this.#given = new GivenCalls({
      ...deps,
      isOwn: (coordinator) => this.#isOwn(coordinator),
      clear: (deviceId) => this.save(deviceId, []),
    });
  }

  /** What was given and not claimed stays in the shared rows. */
  close(): void {
    this.#given.close();
  }

  /** The sessions that an earlier life of this process has written to the shared rows last. Before any is ended here. */
  resume(deviceId: DeviceId, sessions: readonly CallSession[]): void {
    this.#shared.note(deviceId, sessions);
  }

  /** An earlier life of this process has changed the device's calls, has not shared that yet, and has left none here. */
  resumeWithout(deviceId: DeviceId): void {
    this.#given.resume(deviceId);
  }

  /**
   * Where the device's next session is to be issued; `here`: it is claimed for this member, until `settled`. Never
   * rejects.
   */
  coordinatorOf(deviceId: DeviceId): CallCoordinator | Promise<CallCoordinator> {
    this.#issuing.begin(deviceId);
    return this.#hasCalls(deviceId) ? 'here' : this.#coordinatorToIssue(deviceId);
  }

  /** The issuance that `coordinatorOf` has sent here is done, or refused: without a call the device is anybody's again. */
  settled(deviceId: DeviceId): void {
    if (this.#issuing.end(deviceId) && !this.#hasCalls(deviceId)) this.#release(deviceId);
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
    const { peers, directory } = this.#deps;
    // Its leg comes here again, and who had asked for it may not have got it.
    if (deviceId !== null) await this.#given.look(deviceId);
    if (directory.find(sessionId) !== null) return;
    for (const member of othersAlive(peers)) {
      const question = { kind: 'take-calls', sessionId } as const;
      const asked = await peers.ask<'take-calls'>(member, question, callPlacementMsMax);
      if (!asked.ok || asked.value.kind === 'absent') continue;
      if (asked.value.kind === 'given') await this.#take(asked.value.deviceId, asked.value.sessions);
      return;
    }
    // A session that has ended is nowhere; it must not take others of its device out of the shared row.
    if (deviceId !== null && !this.#hasCalls(deviceId))
      await this.#claim(deviceId, (kept) => this.#isTheirs(kept));
  }

  /** Answers another member's question: gives up the calls of the session's device. */
  give(sessionId: SessionId): PeerAnswer<'take-calls'> {
    const { directory } = this.#deps;
    const session = directory.find(sessionId);
    if (session === null) return { kind: 'absent' };
    const { deviceId } = session;
    const sessions = directory.release(deviceId);
    if (sessions === null) return { kind: 'in-use' };
    // Those that have ended here are not theirs to tell.
    this.#shared.notePut(deviceId, sessions);
    this.#given.add(deviceId, sessions);
    return { kind: 'given', deviceId, sessions };
  }

  /** Takes up the calls of a member that is gone: they wait here for their legs. Rejects with SharedStateUnavailable. */
  async takeOver(member: MemberId): Promise<number> {
    let taken = 0;
    for await (const { deviceId, coordinator, sessions } of this.#deps.placements.all()) {
      if (coordinator !== member || sessions.length === 0) continue;
      const claimed = await this.#claim(deviceId, (kept) => kept.coordinator !== member);
      if (claimed === 'unavailable')
        throw new SharedStateUnavailable('the calls of a lost member cannot be claimed');
      if (claimed === 'here') taken += sessions.length;
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
        else if (sessions.length === 0 && about === null) this.#shared.forget(deviceId);
        return about === null || !(await this.#isTheirsToTell(kept, deviceId, about));
      }
      // What has come since is written behind this; who was given them claims them there, or finds them there if this member is lost.
      const isEmptied = sessions.length === 0 && about === null;
      if (isEmptied && (this.#hasCalls(deviceId) || this.#given.areIn(kept, deviceId))) return true;
      const own = {
        coordinator: peers.self,
        sessions,
        // A session is, or will be, on its way there.
        isIssuing: sessions.length === 0 && (this.#issuing.has(deviceId) || this.#hasCalls(deviceId)),
      };
      this.#shared.notePut(deviceId, sessions);
      if ((await placements.put(deviceId, own, kept?.revision ?? null)) === 'conflict') continue;
      this.#shared.note(deviceId, this.#given.living(deviceId, sessions));
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
    this.#issuing.begin(deviceId);
    if ((await this.#claim(deviceId, () => false, sessions)) === 'here') this.#given.forget(deviceId);
    this.settled(deviceId);
  }

  /**
   * Makes this member the coordinator unless `isOthers` forbids it; the calls of the former coordinator come along, or those
   * that it has given.
   */
  async #claim(
    deviceId: DeviceId,
    isOthers: (kept: KeptCalls) => boolean,
    given: readonly CallSession[] = [],
  ): Promise<CallCoordinator> {
    const { placements, peers, log } = this.#deps;
    let claimed: readonly CallSession[] = [];
    try {
      for (let attempt = 0; attempt < callClaimsMax; attempt++) {
        claimed = [];
        const kept = await placements.find(deviceId, callPlacementMsMax);
        if (kept !== null && isOthers(kept)) return kept.coordinator;
        const isOwn = kept !== null && this.#isOwn(kept.coordinator);
        claimed = given.length === 0 && kept !== null && !isOwn ? kept.sessions : given;
        // Of its own row a claim takes nothing out: one may have been issued since it began.
        const isKept = isOwn && (this.#given.areIn(kept, deviceId) || claimed.length === 0);
        const sessions = isKept ? kept.sessions : claimed;
        const own = { coordinator: peers.self, sessions, isIssuing: this.#issuing.has(deviceId) };
        if ((await placements.put(deviceId, own, kept?.revision ?? null)) === 'conflict') continue;
        if (!isKept) this.#shared.note(deviceId, claimed);
        if (claimed.length > 0) this.#given.adopt(deviceId, claimed);
        return 'here';
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot tell which member keeps the calls of a device');
      // The row may be this member's by now, and then nobody else keeps them: the next write tells.
      if (claimed.length > 0) this.#given.adopt(deviceId, claimed);
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
      this.#shared.has(deviceId, about) ||
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

  async #coordinatorToIssue(deviceId: DeviceId): Promise<CallCoordinator> {
    const coordinator = await this.#claim(deviceId, (kept) => this.#isTheirs(kept));
    if (coordinator !== 'here') this.#issuing.end(deviceId);
    return coordinator;
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
