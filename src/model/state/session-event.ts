/**
 * Logins and ends of sessions, and the events that tell backends of them. An event is derived from its transition here,
 * and read back here: nobody else knows which type of event is a login. Source: events.md, The log.
 */
import type { ConnectionKind } from '../cluster.ts';
import type { EventDraft } from '../events.ts';
import type { DeviceId, SessionId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { SignalEndReason } from '../signal.ts';
import type { SleepEndReason } from '../sleep.ts';

/** What a login and an end say alike. */
export interface SessionPlace {
  readonly connection: ConnectionKind;
  readonly session: SessionId;
  readonly epoch: number;
  /** Wall milliseconds. */
  readonly atMs: number;
  /** The name of its node, in events. */
  readonly node: string;
}

export interface SessionLogin extends SessionPlace {
  readonly kind: 'login';
  readonly replaced: boolean;
  /** Others had to call the session lost, and it lives; left out: they had not. */
  readonly recovered?: boolean;
  /** What the device reported of itself at this login; null: nothing, or it is a sleep session. */
  readonly media: JsonObject | null;
}

export interface SessionEnd extends SessionPlace {
  readonly kind: 'ended';
  readonly reason: SleepEndReason | SignalEndReason;
}

export type SessionTransition = SessionLogin | SessionEnd;

type LoginDraft = Extract<EventDraft, { type: 'device.sleep.login' | 'device.signal.online' }>;

const types = {
  sleep: { login: 'device.sleep.login', ended: 'device.sleep.offline' },
  signal: { login: 'device.signal.online', ended: 'device.signal.offline' },
} as const;

export function sessionEvent(deviceId: DeviceId, transition: SessionTransition): EventDraft {
  const { kind, connection, session, node, epoch, atMs } = transition;
  const type = types[connection][kind];
  const data =
    kind === 'ended' ? { session, node, reason: transition.reason } : loginData(session, node, transition);
  // A connection's reasons are those of its own ends.
  return { type, data, deviceId, atMs, epoch } as EventDraft;
}

function loginData(
  session: SessionId,
  node: string,
  { replaced, recovered, media }: SessionLogin,
): LoginDraft['data'] {
  if (recovered === true) return { session, node, replaced, recovered };
  return media === null ? { session, node, replaced } : { session, node, replaced, media };
}

/** The session that an event of the log speaks of; null: it is about something else. */
export function loggedSession(
  draft: EventDraft,
): Pick<SessionTransition, 'kind' | 'connection' | 'session'> | null {
  switch (draft.type) {
    case types.sleep.login:
      return { kind: 'login', connection: 'sleep', session: draft.data.session };
    case types.sleep.ended:
      return { kind: 'ended', connection: 'sleep', session: draft.data.session };
    case types.signal.login:
      return { kind: 'login', connection: 'signal', session: draft.data.session };
    case types.signal.ended:
      return { kind: 'ended', connection: 'signal', session: draft.data.session };
    default:
      return null;
  }
}

/** A login's event with what is known of the session only later; null: the event is no login's. */
export function amendedLogin(
  draft: EventDraft,
  known: { readonly epoch: number; readonly replaced: boolean | null; readonly recovered: boolean },
): EventDraft | null {
  if (draft.type !== types.sleep.login && draft.type !== types.signal.login) return null;
  const replaced = known.replaced ?? draft.data.replaced;
  const later = known.recovered ? { replaced, recovered: true } : { replaced };
  return { ...draft, epoch: known.epoch, data: { ...draft.data, ...later } } as EventDraft;
}
