/** An event on its way into the log that all members share. Source: events.md, The log. */
import { z } from 'zod';
import { callEndReasons, callStates } from '../../model/call.ts';
import type { EventDraft } from '../../model/events.ts';
import { signalEndReasons } from '../../model/signal.ts';
import { sleepEndReasons } from '../../model/sleep.ts';
import {
  deviceId,
  encodeJsonObject,
  jsonObject,
  line,
  requestId,
  stamp,
  whole,
  word,
} from './name-values.ts';
import { sessionId } from './session-values.ts';

const common = { deviceId, atMs: stamp, epoch: whole.nullable() };
const login = {
  session: sessionId,
  node: line,
  replaced: z.boolean(),
  recovered: z.literal(true).exactOptional(),
};

function draftOf<Type extends EventDraft['type'], Data extends z.ZodRawShape>(type: Type, data: Data) {
  return z.strictObject({ type: z.literal(type), data: z.strictObject(data), ...common });
}

const call = { session: sessionId, state: z.enum(callStates), reason: z.enum(callEndReasons).nullable() };

export const eventDraft: z.ZodType<EventDraft> = z.discriminatedUnion('type', [
  draftOf('device.signal.online', { ...login, media: jsonObject.exactOptional() }),
  draftOf('device.sleep.login', login),
  draftOf('device.signal.offline', { session: sessionId, node: line, reason: z.enum(signalEndReasons) }),
  draftOf('device.sleep.offline', { session: sessionId, node: line, reason: z.enum(sleepEndReasons) }),
  draftOf('device.wakeup.accepted', { request_id: requestId, custom_data: word<string>().nullable() }),
  draftOf('device.wakeup.failed', { request_id: requestId, reason: z.enum(sleepEndReasons) }),
  draftOf('device.wakeup.completed', { request_id: requestId, woke_after_ms: whole }),
  draftOf('device.wakeup.expired', { request_id: requestId }),
  draftOf('call.started', call),
  draftOf('call.state', call),
  draftOf('call.ended', call),
]);

/** As `eventDraft` reads it. */
export function plainDraft(draft: EventDraft): object {
  if (draft.type !== 'device.signal.online' || draft.data.media === undefined) return draft;
  return { ...draft, data: { ...draft.data, media: encodeJsonObject(draft.data.media) } };
}
