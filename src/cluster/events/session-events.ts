/** What an event of the log says of a session. Source: events.md, The log. */
import type { ConnectionKind } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import type { SessionId } from '../../model/ids.ts';

export interface ToldSession {
  readonly connection: ConnectionKind;
  readonly session: SessionId;
  readonly isEnd: boolean;
}

/** Null: it is about something else. */
export function sessionEvent(draft: EventDraft): ToldSession | null {
  switch (draft.type) {
    case 'device.sleep.login':
      return { connection: 'sleep', session: draft.data.session, isEnd: false };
    case 'device.sleep.offline':
      return { connection: 'sleep', session: draft.data.session, isEnd: true };
    case 'device.signal.online':
      return { connection: 'signal', session: draft.data.session, isEnd: false };
    case 'device.signal.offline':
      return { connection: 'signal', session: draft.data.session, isEnd: true };
    default:
      return null;
  }
}
