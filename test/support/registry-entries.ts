/** A small registry with one entry of every kind, in the form of a file. */
export const sampleRegistry = {
  applications: [{ app_id: '2818153', name: 'demo' }],
  products: [
    {
      product_id: 'doorbell',
      app_ids: ['2818153'],
      defaults: {
        heartbeat_s: 120,
        sleep: { servers: ['sleep.example:8081'], retry: { min_s: 5, max_s: 600, jitter: 0.25 } },
        media: { down_video_mt: 'mjpeg', screen_width: 160, screen_height: 100, audio_rate: 8000 },
      },
    },
  ],
  credentials: [
    {
      access_key_id: 'AKTEST',
      secret_key: 'secret-of-the-credential',
      app_id: '2818153',
      permissions: ['*'],
      not_before: null,
      not_after: 2_000_000_000,
      revoked: false,
    },
  ],
  devices: [
    {
      device_id: 'TESTDEVICE01',
      product_id: 'doorbell',
      secret: 'secret-1-of-a-device',
      expires_at: null,
      disabled: false,
    },
    {
      device_id: 'TESTDEVICE02',
      product_id: 'doorbell',
      secret: 'secret-2-of-a-device',
      expires_at: 1_900_000_000,
      disabled: true,
    },
  ],
  webhooks: [
    {
      app_id: '2818153',
      url: 'https://backend.example/hook',
      secret: 'whsec_dGhlIHNlY3JldCBvZiB0aGUgd2ViaG9vaw==',
      types: ['device.wakeup.accepted'],
    },
  ],
  bridges: [{ bridge_id: 'bridge-1', key_sha256: 'ab'.repeat(32), app_ids: ['2818153'], revoked: false }],
};

const kindsByList = {
  applications: 'application',
  products: 'product',
  credentials: 'credential',
  devices: 'device',
  webhooks: 'webhook',
  bridges: 'bridge',
} as const;

export function sampleLines({ tagged }: { tagged: boolean }): string[] {
  return Object.entries(sampleRegistry).flatMap(([list, entries]) => {
    const kind = kindsByList[list as keyof typeof kindsByList];
    return (entries as object[]).map((entry) => JSON.stringify(tagged ? { kind, ...entry } : entry));
  });
}
