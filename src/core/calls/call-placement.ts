/**
 * Which member keeps a device's calls: the one that issued the first of them, while it lives. Whoever issues asks here
 * first, and from then on, before there is a session, others are sent to it. Whoever lets a leg in to a call that is kept elsewhere takes it over, as long as nobody is connected to it
 * there: both legs of a call meet in one media process. Source: cluster.md, Media.
 */
import type { CallDirectory } from './call-directory.ts';
import type { CallSession } from '../../model/call.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { callClaimsMax, callPlacementMsMax } from '../../model/limits.ts';
import type { PeerAnswer } from '../../model/peer.ts';
import type { CallPlacements, KeptCalls } from '../ports/call-placements.ts';
import type { Log } from '../ports/log.ts';
import type { Peers } from '../ports/peers.ts';

export interface CallPlacementDeps {
  readonly log: Log;
  readonly directory: CallDirectory;
  readonly peers: Pick<Peers, 'self' | 'alive' | 'isAlive' | 'ask'>;
  readonly placements: CallPlacements;
}

/** `away`: it cannot be told, or was not to be had. */
export type CallHome = 'here' | 'away' | MemberId;

export class CallPlacement {
  readonly #deps: CallPlacementDeps;
  /** Devices of which a session is being issued here: how many times. */
  readonly #issuing = new Map<DeviceId, number>();

  constructor(deps: CallPlacementDeps) {
    this.#deps = deps;
  }

  /**
   * Where the device's next session is to be issued; `here`: it is claimed for this member, until `settled`. Never
   * rejects.
   */
  homeOf(deviceId: DeviceId): CallHome | Promise<CallHome> {
    this.#beginIssuing(deviceId);
    return this.#hasCalls(deviceId) ? 'here' : this.#homeToIssue(deviceId);
  }

  /** What `homeOf` has sent here is issued, or refused: then the device is anybody's again. */
  settled(deviceId: DeviceId): void {
    if (this.#endIssuing(deviceId) && !this.#hasCalls(deviceId)) this.#release(deviceId);
  }

  /** The device's live sessions, by who keeps them. Rejects with SharedStateAway. */
  async sessionsOf(deviceId: DeviceId): Promise<readonly CallSession[]> {
    const kept = await this.#deps.placements.find(deviceId, callPlacementMsMax);
    return kept === null || kept.coordinator === this.#deps.peers.self ? [] : kept.sessions;
  }

  /** Brings a session here that somebody wants to connect to, where that can be. `deviceId` null: not known. Never rejects. */
  async fetch(sessionId: SessionId, deviceId: DeviceId | null): Promise<void> {
    const { peers } = this.#deps;
    for (const member of peers.alive()) {
      if (member === peers.self) continue;
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

  /** Another member's question: gives up the calls of the device that the session is of. */
  give(sessionId: SessionId): PeerAnswer<'take-calls'> {
    const { directory } = this.#deps;
    const session = directory.find(sessionId);
    if (session === null) return { kind: 'absent' };
    const { deviceId } = session;
    const sessions = directory.release(deviceId);
    return sessions === null ? { kind: 'in-use' } : { kind: 'given', deviceId, sessions };
  }

  /** Takes up the calls of a member that is gone: they wait here for their legs. Rejects with SharedStateAway. */
  async takeOver(member: MemberId): Promise<number> {
    let taken = 0;
    for await (const { deviceId, coordinator, sessions } of this.#deps.placements.all()) {
      if (coordinator !== member || sessions.length === 0) continue;
      if ((await this.#claim(deviceId, (kept) => kept.coordinator !== member)) === 'here')
        taken += sessions.length;
    }
    return taken;
  }

  /** Writes what this member keeps to where all see it; nothing, if another keeps it by now. Rejects with SharedStateAway. */
  async save(deviceId: DeviceId, sessions: readonly CallSession[]): Promise<void> {
    const { placements, peers } = this.#deps;
    for (let attempt = 0; attempt < callClaimsMax; attempt++) {
      const kept = await placements.find(deviceId, callPlacementMsMax);
      if (kept !== null && kept.coordinator !== peers.self) return;
      const own = {
        coordinator: peers.self,
        sessions,
        isIssuing: sessions.length === 0 && this.#isAwaited(deviceId),
      };
      if ((await placements.put(deviceId, own, kept?.revision ?? null)) === 'done') return;
    }
    throw new Error(`the calls of a device were changed ${callClaimsMax} times while they were written`);
  }

  /** Another member has given them, and its claim is taken over whatever it says. */
  async #take(deviceId: DeviceId, sessions: readonly CallSession[]): Promise<void> {
    this.#beginIssuing(deviceId);
    const home = await this.#claim(deviceId, () => false);
    if (home === 'here') this.#deps.directory.adopt(deviceId, sessions);
    this.settled(deviceId);
  }

  /** Makes this member the keeper unless `isOthers` says that it may not; what a member before it kept comes along. */
  async #claim(deviceId: DeviceId, isOthers: (kept: KeptCalls) => boolean): Promise<CallHome> {
    const { placements, peers, directory, log } = this.#deps;
    try {
      for (let attempt = 0; attempt < callClaimsMax; attempt++) {
        const kept = await placements.find(deviceId, callPlacementMsMax);
        if (kept !== null && isOthers(kept)) return kept.coordinator;
        const sessions = kept === null || kept.coordinator === peers.self ? [] : kept.sessions;
        const own = { coordinator: peers.self, sessions, isIssuing: this.#issuing.has(deviceId) };
        if ((await placements.put(deviceId, own, kept?.revision ?? null)) === 'conflict') continue;
        if (sessions.length > 0) directory.adopt(deviceId, sessions);
        return 'here';
      }
    } catch (error) {
      log.warn({ err: error }, 'who keeps the calls of a device cannot be told');
    }
    return 'away';
  }

  #isTheirs({ coordinator, sessions, isIssuing }: KeptCalls): boolean {
    const { peers } = this.#deps;
    return coordinator !== peers.self && (sessions.length > 0 || isIssuing) && peers.isAlive(coordinator);
  }

  async #homeToIssue(deviceId: DeviceId): Promise<CallHome> {
    const home = await this.#claim(deviceId, (kept) => this.#isTheirs(kept));
    if (home !== 'here') this.#endIssuing(deviceId);
    return home;
  }

  #beginIssuing(deviceId: DeviceId): void {
    this.#issuing.set(deviceId, (this.#issuing.get(deviceId) ?? 0) + 1);
  }

  /** True: it was the last that was at work. */
  #endIssuing(deviceId: DeviceId): boolean {
    const left = (this.#issuing.get(deviceId) ?? 0) - 1;
    if (left > 0) this.#issuing.set(deviceId, left);
    else this.#issuing.delete(deviceId);
    return left <= 0;
  }

  /** A session is, or will be, on its way to where all see it. */
  #isAwaited(deviceId: DeviceId): boolean {
    return this.#issuing.has(deviceId) || this.#hasCalls(deviceId);
  }

  /** What fails leaves the claim as it is: others go on asking here, while this member lives. */
  #release(deviceId: DeviceId): void {
    this.save(deviceId, []).catch((error: unknown) =>
      this.#deps.log.warn({ err: error }, 'a claim to the calls of a device is not given up'),
    );
  }

  #hasCalls(deviceId: DeviceId): boolean {
    return this.#deps.directory.sessionsOf(deviceId).length > 0;
  }
}
