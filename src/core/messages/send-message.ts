/**
 * Sends a backend's message to an online device, and answers whether the device acknowledged it. Access is checked here; then
 * deliver-message.ts delivers it, in this process or at the member with the signal session. Source: signal-wire.md, Sending a
 * message; cluster.md, the failure table.
 */
import { wallSeconds } from '../../lib/clock.ts';
import { fail } from '../../lib/result.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import type { MemberId } from '../../model/cluster.ts';
import { retryable, refusal } from '../../model/codes.ts';
import { messageAckMsMax, ownerQueryMsMax, peerHopMsMax } from '../../model/limits.ts';
import type { MessageRequest } from '../../model/message.ts';
import { checkDeviceAccess } from '../devices/device-access.ts';
import { deliverMessage, type MessageDeps, refuseMessage, type MessageAnswer } from './deliver-message.ts';
import { locateDevice, type ClusterDeps } from '../devices/locate-device.ts';

/**
 * Settles within the acknowledgement deadline (5 s), in a cluster plus the time to the owner and back. Rejects only if a connection
 * violates its port's contract.
 */
export async function sendMessage(deps: MessageDeps, request: MessageRequest): Promise<MessageAnswer> {
  const denied = checkMessage(deps, request);
  if (denied !== null) return denied;
  if (deps.memory.repeated(request) !== null) return deliverMessage(deps, request);
  const answer = await trySending(deps, request);
  if (isAbsent(answer)) deps.telemetry.message('refused');
  return concludeMessage(deps, request, answer);
}

/** Sends a message whose access is checked; the caller counts and remembers a missing device (40412). */
export async function trySending(deps: MessageDeps, request: MessageRequest): Promise<MessageAnswer> {
  if (deps.cluster === null) return deliverMessage(deps, request);
  const first = await route(deps, deps.cluster, request);
  const answer = first === 'absent' ? await route(deps, deps.cluster, request) : first;
  return answer === 'absent' ? fail(refusal(40412)) : answer;
}

export function isAbsent(answer: MessageAnswer): boolean {
  return !answer.ok && answer.error.code === 40412;
}

/** Codes after which a repeat is not executed again. */
const settledCodes: ReadonlySet<number> = new Set([40412, 40902, 50204, 50402]);

/** Stores the answer for repeats, here and at all other members. */
export function concludeMessage(
  deps: MessageDeps,
  request: MessageRequest,
  answer: MessageAnswer,
): MessageAnswer {
  if (!answer.ok && !settledCodes.has(answer.error.code)) return answer;
  const { signature, signatureExpiresMs } = request;
  rememberMessage(deps, request, answer);
  deps.peers.notify('everybody', { kind: 'message-answered', signature, signatureExpiresMs, answer });
  return answer;
}

/** Stores the answer if there is room; otherwise a repeat is executed again. */
export function rememberMessage(
  { memory }: Pick<MessageDeps, 'memory'>,
  request: SignedRequest,
  answer: MessageAnswer,
): void {
  if (memory.hasRoomFor(request) || memory.repeated(request) !== null) memory.keep(request, answer);
}

/** Answers another member that located the session here. */
export async function answerMessage(deps: MessageDeps, request: MessageRequest): Promise<MessageAnswer> {
  return checkMessage(deps, request) ?? deliverMessage(deps, request);
}

export function checkMessage(deps: MessageDeps, { appId, deviceId }: MessageRequest): MessageAnswer | null {
  try {
    const denied = checkDeviceAccess(deps.registry, appId, deviceId, wallSeconds(deps.clock));
    return denied === null ? null : refuseMessage(deps, refusal(denied));
  } catch (error) {
    return unreadable(deps, error, 'message: refused: registry unreadable; answered 50301');
  }
}

/** `absent`: the asked member no longer has a session of the device. The owner counts its own answers. */
async function route(
  deps: MessageDeps,
  cluster: ClusterDeps,
  request: MessageRequest,
): Promise<MessageAnswer | 'absent'> {
  const owner = await findOwner(deps, cluster, request);
  if (owner === 'here') return deliverMessage(deps, request);
  if (owner === 'nowhere')
    return (await deliverFound(deps, cluster, request)) ?? deliverMessage(deps, request);
  if (owner === null) return refuseMessage(deps, retryable(50301, 'message service unavailable'));
  if (owner === 'unavailable')
    return refuseMessage(
      deps,
      retryable(50301, 'the device cannot be located: the shared state is unavailable'),
    );
  if (owner === 'lost') return refuseMessage(deps, unreachable);
  const answer = await deliverAt(deps, cluster, owner.member, request);
  return answer === 'absent' ? ((await deliverFound(deps, cluster, request)) ?? 'absent') : answer;
}

async function deliverAt(
  deps: MessageDeps,
  { peers }: ClusterDeps,
  member: MemberId,
  request: MessageRequest,
): Promise<MessageAnswer | 'absent'> {
  const waitMs = messageAckMsMax + peerHopMsMax;
  const asked = await peers.ask<'message'>(member, { kind: 'message', request }, waitMs);
  if (!asked.ok) return refuseMessage(deps, asked.error === 'unanswered' ? refusal(50402) : unreachable);
  return isAbsent(asked.value) ? 'absent' : asked.value;
}

/** Delivers the message at a member where the device just logged in, before the row shows it. Null: no member has it. */
async function deliverFound(
  deps: MessageDeps,
  cluster: ClusterDeps,
  request: MessageRequest,
): Promise<MessageAnswer | 'absent' | null> {
  const member = await cluster.search.find('signal', request);
  return member === null ? null : deliverAt(deps, cluster, member, request);
}

const unreachable = retryable(50301, 'the member that has the device cannot be reached');

async function findOwner(
  deps: MessageDeps,
  cluster: ClusterDeps,
  { deviceId }: MessageRequest,
): Promise<Awaited<ReturnType<typeof locateDevice>>['owner'] | null> {
  try {
    return (await locateDevice(deps, cluster, 'signal', deviceId, ownerQueryMsMax)).owner;
  } catch (error) {
    deps.log.error(
      { err: error },
      'message: device not located: its shared row is unreadable; answered 50301',
    );
    return null;
  }
}

function unreadable(deps: MessageDeps, error: unknown, what: string): MessageAnswer {
  deps.log.error({ err: error }, what);
  return refuseMessage(deps, retryable(50301, 'message service unavailable'));
}
