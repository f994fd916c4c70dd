/**
 * Answers to other members: about devices and wakeups of this server, and the calls that it keeps. Source: cluster.md.
 */
import { fail } from '../../lib/result.ts';
import { refusal } from '../../model/codes.ts';
import type { PeerAnswer, SoughtDevices } from '../../protocol/cluster/peer-message.ts';
import type { ProvisioningAnswer, ProvisioningRequest } from '../../model/provisioning.ts';
import { answerPeers } from '../../cluster/ownership/answer-peers.ts';
import { callsHere } from '../../core/ports/call-locator.ts';
import type { DeviceId, RequestId, SessionId } from '../../model/ids.ts';
import { registryUnavailable } from '../../core/devices/provision-devices.ts';
import { findOwnWakeups } from '../../core/wakeups/find-wakeups.ts';
import { issueCallCredentials } from '../../core/calls/issue-call-credentials.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';
import { issuingSettings } from '../config/derived-settings.ts';

export function memberAnswers(context: ServerContext): PeerHost {
  const { own } = context;
  return answerPeers({
    ...context,
    wakeups: context,
    messages: { ...context, memory: context.messages },
    ends: context.callEnds,
    others: {
      'issue-call': ({ order }) =>
        own.calls === null
          ? fail(refusal(50301))
          : issueCallCredentials(issuingDeps(context, own.calls), order),
      'find-call': ({ sessionId }) => (own.calls === null ? null : findCall(own.calls, sessionId)),
      'held-devices': ({ sought }) => findHeldDevices(context, sought),
      wakeups: ({ requestId, deviceId }) => wakeupsKnownTo(context, requestId, deviceId),
    },
  });
}

/** Null: no such call, or the address of its media listener is unknown. */
function findCall({ directory, mediaProcesses }: CallService, sessionId: SessionId): PeerAnswer<'find-call'> {
  const appId = directory.find(sessionId)?.appId ?? null;
  const mediaUrl = appId === null ? null : mediaProcesses.urlOf(sessionId);
  return appId === null || mediaUrl === null ? null : { appId, mediaUrl };
}

/** Empty when the store cannot be read. */
async function findHeldDevices(
  { deviceSearch, log }: ServerContext,
  sought: SoughtDevices,
): Promise<PeerAnswer<'held-devices'>> {
  try {
    return await deviceSearch.find(sought);
  } catch (error) {
    log.error({ err: error }, 'device search: store unreadable; answered without devices');
    return [];
  }
}

/** Empty when the store cannot be read. */
function wakeupsKnownTo(
  context: ServerContext,
  requestId: RequestId,
  deviceId: DeviceId | null,
): PeerAnswer<'wakeups'> {
  const { answeredWakeups, records, log } = context;
  try {
    return findOwnWakeups({ answeredWakeups, wakeupRecords: records.wakeups }, requestId, deviceId);
  } catch (error) {
    log.error({ err: error }, 'wakeup search: store unreadable; answered without wakeups');
    return { wakeups: [], refused: [] };
  }
}

/** Never rejects. */
export async function provisionHere(
  { own, log }: Pick<ServerContext, 'own' | 'log'>,
  request: ProvisioningRequest,
): Promise<ProvisioningAnswer> {
  if (own.provisioner === null) return fail(registryUnavailable);
  try {
    return await own.provisioner.carryOut(request);
  } catch (error) {
    log.error({ err: error }, 'provisioning: devices not changed: registry unreadable');
    return fail(registryUnavailable);
  }
}

function issuingDeps(context: ServerContext, { directory, bridges, keys }: CallService) {
  const { calls: records } = context.records;
  const settings = issuingSettings(context.settings);
  return { ...context, ...settings, directory, bridges, keys, records, callLocator: callsHere };
}
