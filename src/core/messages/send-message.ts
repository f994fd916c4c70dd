/**
 * Hands a backend's message to a device that is online, and says whether the device has it. Access is checked here, then
 * it is done: alone in this process, among several members by the one that has the signal session. What becomes of it
 * there is in deliver-message.ts. Source: signal-wire.md, Sending a message; cluster.md, the failure table.
 */
import { wallSeconds } from '../../lib/clock.ts';
import { fail } from '../../lib/result.ts';
import { refusal } from '../../model/codes.ts';
import { messageAckMsMax, ownerQueryMsMax, peerHopMsMax } from '../../model/limits.ts';
import type { MessageRequest } from '../../model/message.ts';
import { checkDeviceAccess } from '../devices/device-access.ts';
import {
  deliverMessage,
  type MessageDeps,
  messageUnavailable,
  refuseMessage,
  type MessageAnswer,
} from './deliver-message.ts';
import { locateDevice, type ClusterDeps } from '../devices/locate-device.ts';

/**
 * Settles within the acknowledgement's deadline (5 s), among several members with the ways there and back. Rejects only
 * when a connection breaks its port's promise.
 */
export async function sendMessage(deps: MessageDeps, request: MessageRequest): Promise<MessageAnswer> {
  const denied = check(deps, request);
  if (denied !== null) return denied;
  if (deps.cluster === null || deps.memory.repeated(request) !== null) return deliverMessage(deps, request);
  const first = await route(deps, deps.cluster, request);
  const answer = first === 'absent' ? await route(deps, deps.cluster, request) : first;
  return answer === 'absent' ? fail(refusal(40412)) : answer;
}

/** What another member asks of the one that has the session: all of it, but for finding who that is. */
export async function answerMessage(deps: MessageDeps, request: MessageRequest): Promise<MessageAnswer> {
  return check(deps, request) ?? deliverMessage(deps, request);
}

/** Null: it may be sent. */
function check(deps: MessageDeps, { appId, deviceId }: MessageRequest): MessageAnswer | null {
  try {
    const denied = checkDeviceAccess(deps.registry, appId, deviceId, wallSeconds(deps.clock));
    return denied === null ? null : refuseMessage(deps, refusal(denied));
  } catch (error) {
    return unreadable(deps, error, 'whose device a message is for cannot be read');
  }
}

/** `absent`: who was asked has no session of the device any more. What the owner has answered is counted there. */
async function route(
  deps: MessageDeps,
  cluster: ClusterDeps,
  request: MessageRequest,
): Promise<MessageAnswer | 'absent'> {
  const owner = await findOwner(deps, cluster, request);
  if (owner === 'here' || owner === 'nowhere') return deliverMessage(deps, request);
  if (owner === null) return refuseMessage(deps, messageUnavailable('message service unavailable'));
  if (owner === 'unavailable')
    return refuseMessage(deps, messageUnavailable('where the device is cannot be told'));
  if (owner === 'lost') return refuseMessage(deps, unreachable);
  const waitMs = messageAckMsMax + peerHopMsMax;
  const asked = await cluster.peers.ask<'message'>(owner.member, { kind: 'message', request }, waitMs);
  if (!asked.ok) return refuseMessage(deps, asked.error === 'unanswered' ? refusal(50402) : unreachable);
  return !asked.value.ok && asked.value.error.code === 40412 ? 'absent' : asked.value;
}

const unreachable = messageUnavailable('the member that has the device cannot be reached');

/** Null: the store cannot be read. */
async function findOwner(
  deps: MessageDeps,
  cluster: ClusterDeps,
  { deviceId }: MessageRequest,
): Promise<Awaited<ReturnType<typeof locateDevice>>['owner'] | null> {
  try {
    return (await locateDevice(deps, cluster, 'signal', deviceId, ownerQueryMsMax)).owner;
  } catch (error) {
    deps.log.error({ err: error }, 'where the device of a message is cannot be read');
    return null;
  }
}

function unreadable(deps: MessageDeps, error: unknown, what: string): MessageAnswer {
  deps.log.error({ err: error }, what);
  return refuseMessage(deps, messageUnavailable('message service unavailable'));
}
