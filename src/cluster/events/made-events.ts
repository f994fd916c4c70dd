/**
 * Events of what nobody's own store has committed: a session that was claimed again, and one of a lost member that others
 * ended. Source: cluster.md; events.md.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Clock } from '../../lib/clock.ts';
import type { FailedOverSlot, ConnectionKind, MarkedEvent, SessionSlot } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import { generateEventId, type DeviceId, type EventId, type ProductId } from '../../model/ids.ts';
import { sessionEvent } from '../../model/state/session-event.ts';
import type { OutboxEvent } from '../../core/ports/outbox.ts';
import { duplicateSafeMs } from './log-limits.ts';

/** Parts for those that publish events of changes that all members share. */
export interface PublishingDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly events: MadeEvents;
  /** Resolves when it is in the log of all, once; rejects while NATS is unavailable. */
  readonly publish: (event: OutboxEvent) => Promise<void>;
}

export interface MarkedDraft {
  readonly id: EventId;
  readonly draft: EventDraft;
}

type LoggedSlot = Pick<SessionSlot, 'session' | 'node' | 'epoch' | 'recovered'>;

interface Place {
  readonly deviceId: DeviceId;
  readonly connection: ConnectionKind;
}

export class MadeEvents {
  readonly #clock: Clock;
  readonly #productOf: (deviceId: DeviceId) => ProductId | null;
  #made = 0;
  #lastMs = 0;

  constructor(clock: Clock, productOf: (deviceId: DeviceId) => ProductId | null) {
    this.#clock = clock;
    this.#productOf = productOf;
  }

  /** For an event that is made later. */
  id(): EventId {
    this.#lastMs = Math.max(this.#lastMs, this.#clock.wallMs());
    this.#made += 1;
    return generateEventId(this.#lastMs, this.#made);
  }

  /** One that has its id. */
  of({ id, draft }: MarkedDraft): OutboxEvent {
    return { id, draft, productId: this.#productOf(draft.deviceId) };
  }
}

/** That it was ended; before it, that it had come back, where that may not have been told. */
export function lostEvents(place: Place, { slot, id, atMs }: FailedOverSlot): MarkedDraft[] {
  const { session, node, epoch } = slot;
  const { connection } = place;
  const end = { kind: 'ended', connection, session, epoch, atMs, node, reason: 'node_lost' } as const;
  return [...untoldRecovery(place, slot, atMs), { id, draft: sessionEvent(place.deviceId, end) }];
}

/** None when it is so long ago that it was told: its member had more than a moment for it. */
export function untoldRecovery(place: Place, slot: LoggedSlot, nowMs: number): MarkedDraft[] {
  const { recovered } = slot;
  if (recovered === undefined || Math.abs(nowMs - recovered.atMs) >= duplicateSafeMs) return [];
  return [recoveredEvent(place, slot, recovered, false)];
}

export function recoveredEvent(
  { deviceId, connection }: Place,
  { session, node, epoch }: LoggedSlot,
  { id, atMs }: MarkedEvent,
  replaced: boolean,
): MarkedDraft {
  const place = { connection, session, epoch, atMs, node };
  const login = { ...place, kind: 'login', replaced, recovered: true, media: null } as const;
  return { id, draft: sessionEvent(deviceId, login) };
}
