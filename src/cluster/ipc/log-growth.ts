/**
 * Notices among the processes of one server that the log they share has grown, to those that follow it: to read every event
 * at every process would be most of what an event costs. Everybody is told who has not said that it does not follow the log; a process says so
 * when it is told in vain, and takes it back when somebody waits there for events again. Who hears that tells it once more,
 * so that nothing in between is missed. What a watched wakeup has to know of is told to all, with its device, so that
 * watching needs no log. Source: cluster.md, Several processes on one machine.
 */
import type { Clock } from '../../lib/clock.ts';
import { Gathered } from '../../lib/gathered.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { PeerNotice } from '../../model/peer.ts';
import type { Peers } from '../../core/ports/peers.ts';
import { loggedTurnOf } from '../../core/wakeups/log-followers.ts';
import { noticesGathered } from './accepted-notices.ts';

/** The log, as this process has it. */
export interface SharedLog {
  /** Somebody here waits for events. */
  readonly isFollowed: boolean;
  /** There are events of others. */
  refresh(): void;
  shareWith(listener: LogGrowth): void;
}

type LoggedSession = Extract<PeerNotice, { kind: 'sessions-logged' }>['sessions'][number];

/** A process that stopped following the log lets others tell it that the log grew for so long, since it may begin again. */
export const logFollowingLingerMs = 2000;

export class LogGrowth {
  readonly #peers: Pick<Peers, 'self' | 'alive' | 'notify'>;
  readonly #clock: Clock;
  readonly #indifferent = new Set<MemberId>();
  readonly #sessions: Gathered<LoggedSession>;
  /** Null: not open yet. */
  #log: SharedLog | null = null;
  /** Somebody was told that nobody follows the log here, or may have been by the process that was this member before. */
  #isDeclined = true;
  #endedMs = -Infinity;

  constructor(peers: Pick<Peers, 'self' | 'alive' | 'notify'>, clock: Clock) {
    this.#peers = peers;
    this.#clock = clock;
    this.#sessions = new Gathered(clock, noticesGathered, (sessions) =>
      peers.notify('everybody', { kind: 'sessions-logged', sessions }),
    );
  }

  open(log: SharedLog): void {
    this.#log = log;
    log.shareWith(this);
  }

  /** This process has put these into the log. */
  grew(events: readonly LoggedEvent[]): void {
    for (const member of this.#peers.alive())
      if (member !== this.#peers.self && !this.#indifferent.has(member)) this.#tell(member);
    for (const event of events) {
      const turn = loggedTurnOf(event);
      if (turn !== null) this.#sessions.add({ deviceId: event.deviceId, turn });
    }
  }

  /** Another one has put something into the log. */
  grewAt(member: MemberId): void {
    if (this.#log?.isFollowed === true) return this.#log.refresh();
    if (this.#clock.monotonicMs() - this.#endedMs < logFollowingLingerMs) return;
    this.#isDeclined = true;
    this.#peers.notify(member, { kind: 'log-following', follows: false });
  }

  isFollowedBy(member: MemberId, follows: boolean): void {
    if (!follows) {
      this.#forgetGone();
      this.#indifferent.add(member);
    } else if (this.#indifferent.delete(member)) this.#tell(member);
  }

  /** Somebody waits for events here. */
  begun(): void {
    if (!this.#isDeclined) return;
    this.#isDeclined = false;
    this.#peers.notify('everybody', { kind: 'log-following', follows: true });
  }

  ended(): void {
    this.#endedMs = this.#clock.monotonicMs();
  }

  close(): void {
    this.#sessions.close();
  }

  #tell(member: MemberId): void {
    this.#peers.notify(member, { kind: 'log-grew' });
  }

  #forgetGone(): void {
    const living = new Set(this.#peers.alive());
    for (const member of this.#indifferent) if (!living.has(member)) this.#indifferent.delete(member);
  }
}
