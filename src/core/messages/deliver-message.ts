/**
 * Delivers a message at the member that has the device's signal session, or at the receiving member if none has. The order of
 * checks is contract: repeats, drain (50301), room to remember the request (42901), session (40412), room at the device (42901),
 * acknowledgement (50402). Everything up to the send happens in one turn, so that requests cannot interleave. The caller counts and
 * remembers a missing session. Payloads are never logged. Source: signal-wire.md, Sending a message.
 */
import { succeed, fail, type Result } from '../../lib/result.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import { retryable, refusal, type MessageCode, type Refusal } from '../../model/codes.ts';
import { generateMessageId } from '../../model/ids.ts';
import type { MessageReceipt, MessageRefusal, MessageRequest } from '../../model/message.ts';
import type { DeliveryResult } from '../../model/signal.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { Peers } from '../ports/peers.ts';
import type { SignalConnection } from '../ports/device-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { AnswerMemory } from './answer-memory.ts';
import type { ClusterDeps } from '../devices/locate-device.ts';

export interface MessageDeps extends CoreDeps {
  readonly directory: DeviceDirectory;
  readonly memory: AnswerMemory<MessageAnswer>;
  readonly telemetry: Telemetry;
  readonly peers: Pick<Peers, 'notify'>;
  readonly cluster: ClusterDeps | null;
  isDraining(): boolean;
}

/** A promise settles within the acknowledgement deadline (5 s), and rejects only if a connection violates its port's contract. */
export function deliverMessage(
  deps: MessageDeps,
  request: MessageRequest,
): MessageAnswer | Promise<MessageAnswer> {
  const known = deps.memory.repeated(request);
  if (known === null) return begin(deps, request);
  deps.telemetry.message('repeated');
  return known;
}

function begin(deps: MessageDeps, request: MessageRequest): MessageAnswer | Promise<MessageAnswer> {
  const { directory, memory } = deps;
  if (deps.isDraining()) return refuseMessage(deps, retryable(50301, 'this server is being stopped'));
  if (!memory.hasRoomFor(request))
    return refuseMessage(deps, retryable(42901, 'too many messages are remembered'));
  const connection = directory.find(request.deviceId)?.connection('signal') ?? null;
  if (connection === null) return fail(refusal(40412));
  const answer = deliver(deps, request, connection);
  memory.begin(request, answer);
  return answer;
}

async function deliver(
  deps: MessageDeps,
  { deviceId, name, payload }: MessageRequest,
  connection: SignalConnection,
): Promise<MessageAnswer> {
  const id = generateMessageId();
  const result = await connection.deliver({ id, name, payload });
  if (result !== 'acknowledged') return refuseMessage(deps, refusals[result]);
  deps.telemetry.message('acknowledged');
  return succeed({ deviceId, id, acknowledgedAtMs: deps.clock.wallMs() });
}

const refusals: Record<Exclude<DeliveryResult, 'acknowledged'>, Refusal<MessageCode>> = {
  unknown: refusal(50402),
  busy: retryable(42901, 'too many messages wait for this device'),
};

export type MessageAnswer = Result<MessageReceipt, MessageRefusal>;

/** Also counts the refusal. A 50402 with a wakeup was never sent. */
export function refuseMessage(
  { telemetry }: { readonly telemetry: Telemetry },
  why: MessageRefusal,
): MessageAnswer {
  telemetry.message(why.code === 50402 && why.wakeup === undefined ? 'unknown' : 'refused');
  return fail(why);
}
