/** The registry of the soak: the watched site, and the attackers' application. */
import { hashBridgeKey } from '../../../src/model/registry.ts';
import { deviceEntry, siteAppId, siteRegistry } from '../../support/site-server.ts';
import { bridgeKey } from '../media/call-server.ts';

export const attacker = {
  credential: { accessKeyId: 'AKattacker', secretKey: 'a secret of the attacker', appId: '9999999' },
  bridgeKey: 'key-of-the-bridges-of-the-attacker',
  devices: Array.from({ length: 40 }, (_, index) => attackerDevice(index)),
};

export function attackerDevice(index: number): string {
  return `ATTACKER${index}`;
}

/** Devices of the site after the sleeping ones: one for the watched call, the others for newcomers. */
export const newcomers = 20;

export function registry(sleeping: number): object {
  const { accessKeyId: access_key_id, secretKey: secret_key, appId: app_id } = attacker.credential;
  const product_id = 'attackers-doorbell';
  const bridge = (key: string, app: string): object => ({
    bridge_id: `bridge-of-${app}`,
    key_sha256: hashBridgeKey(key),
    app_ids: [app],
  });
  const others: Readonly<Record<string, readonly object[]>> = {
    applications: [{ app_id, name: 'attacker' }],
    credentials: [{ access_key_id, secret_key, app_id, permissions: ['*'] }],
    products: [{ product_id, app_ids: [app_id] }],
    bridges: [bridge(bridgeKey, siteAppId), bridge(attacker.bridgeKey, app_id)],
    devices: attacker.devices.map((deviceId) => ({ ...deviceEntry(deviceId), product_id })),
  };
  const own = siteRegistry({ devices: sleeping + 1 + newcomers });
  return Object.fromEntries(
    Object.entries(others).map(([list, entries]) => [list, [...(own[list] ?? []), ...entries]]),
  );
}
