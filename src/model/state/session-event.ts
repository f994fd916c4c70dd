/**
 * Converts logins and ends of sessions to events for backends, and back: only this file maps them to event types. Source:
 * events.md, The log.
 */
import type { ConnectionKind } from '../cluster.ts';
import type { EventDraft } from '../events.ts';
import type { DeviceId, SessionId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { SignalEndReason } from '../signal.ts';
import type { SleepEndReason } from '../sleep.ts';

export interface SessionPlace {
  readonly connection: ConnectionKind;
  readonly session: SessionId;
  readonly epoch: number;
  readonly atMs: number;
  /** Name of its node, for events. */
  readonly node: string;
}

export interface SessionLogin extends SessionPlace {
  readonly kind: 'login';
  readonly replaced: boolean;
  /** True: the session was declared lost, but is alive. Default: false. */
  readonly recovered?: boolean;
  /** Capabilities that the device reported at this login; null: none, or a sleep session. */
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
  // The reasons of a connection match its own event type.
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

/** The session of a logged event; null: the event is about something else. */
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

/** Adds later facts about the session to a login's event; null: the event is not a login's. */
export function amendedLogin(
  draft: EventDraft,
  known: { readonly epoch: number; readonly replaced: boolean | null; readonly recovered: boolean },
): EventDraft | null {
  if (draft.type !== types.sleep.login && draft.type !== types.signal.login) return null;
  const replaced = known.replaced ?? draft.data.replaced;
  const later = known.recovered ? { replaced, recovered: true } : { replaced };
  return { ...draft, epoch: known.epoch, data: { ...draft.data, ...later } } as EventDraft;
}
