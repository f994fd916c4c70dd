/** Schemas of the wakeup that a repeat finds, and of the answer to one. Source: docs/adr/0008-repeats-of-a-wakeup.md. */
import { z } from 'zod';
import { endpointCodes } from '../../model/codes.ts';
import type { WakeupId } from '../../model/ids.ts';
import type { AcceptedWakeup, PeerAnswer } from '../../model/peer.ts';
import { wakeupAliasesMax } from '../../model/wakeup.ts';
import { refusalOf, wakeupReceipt } from './member-values.ts';
import { requestId, signedRequest, word } from './wire-values.ts';

const mark = { repeatOf: requestId.exactOptional() };

export const wakeupAnswer: z.ZodType<PeerAnswer<'wake'>> = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), value: wakeupReceipt, ...mark }),
  z.strictObject({ ok: z.literal(false), error: refusalOf(endpointCodes.wakeup), ...mark }),
]);

export const acceptedWakeup: z.ZodType<AcceptedWakeup> = z.strictObject({
  ...signedRequest,
  receipt: wakeupReceipt,
  wakeup: z.strictObject({
    requestId,
    id: word<WakeupId>().nullable(),
    aliases: z.array(requestId).max(wakeupAliasesMax),
  }),
});
