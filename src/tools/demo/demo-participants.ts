/**
 * The device and the bridge of the demo, added to the registry for it and disabled after it; and its call credentials as
 * they are shown: the session can be told, the token is a secret while the call lives.
 */
import { randomBytes } from 'node:crypto';
import { generateSecret } from '../../storage/registry/generated-secrets.ts';
import type { OpsClient } from '../../cli/admin/ops-client.ts';
import type { SimulatedDevice } from '../simulator/simulated-devices.ts';
import type { Timeline } from '../bridge/timeline.ts';
import type { CallCredentialsData } from '../../client/reveille-client.ts';

export interface DemoParticipants {
  readonly device: SimulatedDevice;
  readonly bridge: { readonly bridgeId: string; readonly key: string };
  /** Disables the device and revokes the bridge. */
  leave(): Promise<void>;
}

export interface DemoHosts {
  readonly productId: string;
  /** An application that has the product. */
  readonly appId: string;
}

export async function addParticipants(
  ops: OpsClient,
  { productId, appId }: DemoHosts,
  timeline: Timeline,
): Promise<DemoParticipants> {
  const suffix = randomBytes(3).toString('hex').toUpperCase();
  const bridgeId = `DEMO-BRIDGE-${suffix}`;
  const device = { deviceId: `DEMO-${suffix}`, secret: generateSecret() };
  const { key } = await ops.change<{ readonly key: string }>('/v1/bridge/add', {
    bridge_id: bridgeId,
    app_ids: [appId],
  });
  await ops.change('/v1/device/add', {
    device_id: device.deviceId,
    product_id: productId,
    secret: device.secret,
  });
  timeline.notify('server', `device ${device.deviceId} and bridge ${bridgeId} added for this story`);
  return {
    device,
    bridge: { bridgeId, key },
    leave: async () => {
      await ops.change('/v1/device/disable', { device_id: device.deviceId, disabled: true });
      await ops.change('/v1/bridge/revoke', { bridge_id: bridgeId });
      timeline.notify('server', `device ${device.deviceId} disabled again, bridge ${bridgeId} revoked`);
    },
  };
}

const tokenCharactersShown = 8;

/** Of the peer id what names the call, of the token what every token begins with. */
export function showCredentials({ peer_id, token }: CallCredentialsData): CallCredentialsData {
  const [place = ''] = peer_id.split('?', 1);
  return {
    peer_id: `${place}?…&x_session=${sessionOf(peer_id)}`,
    token: `${token.slice(0, tokenCharactersShown)}…`,
  };
}

/** Below a step of the story. */
export function credentialLines(credentials: CallCredentialsData): string[] {
  const { peer_id: peerId, token } = showCredentials(credentials);
  return [`  peer_id  ${peerId}`, `  token    ${token}`];
}

/** Empty: the peer id names none. */
export function sessionOf(peerId: string): string {
  return new URL(peerId).searchParams.get('x_session') ?? '';
}
