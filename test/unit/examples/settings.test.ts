/** The environment of the example backend: what it must be, and that a mistake names itself without its value. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings, UsageError } from '../../../docs/examples/backend/settings.ts';

const needed = {
  API_ACCESS_KEY_ID: 'AKtest',
  API_SECRET_KEY: 'planted-secret',
  API_APP_ID: '2818153',
  PUSH_TOKEN: 'planted-token',
  PUSH_AES_KEY: 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG',
  MSG_APP_ID: 'miniprogram1',
};

test('what is needed is enough, and the rest is as said in the usage', () => {
  assert.deepEqual(readSettings(needed), {
    origin: 'http://127.0.0.1:8080',
    credential: { accessKeyId: 'AKtest', secretKey: 'planted-secret', appId: '2818153' },
    secrets: { token: 'planted-token', encodingAesKey: needed.PUSH_AES_KEY, appId: 'miniprogram1' },
    host: '127.0.0.1',
    port: 8070,
    path: '/push',
    answerWithinMs: 3000,
    callingTimeoutS: 30,
    callMsMax: 30_000,
    callsMax: 200,
    retryPauseMs: 1000,
    defaultMedia: { no_video: true, audio_rate: 8000, audio_channels: 1 },
  });
});

test('everything can be set', () => {
  const settings = readSettings({
    ...needed,
    API_ORIGIN: 'https://reveille.example',
    PUSH_LISTEN: '[::1]:0',
    PUSH_PATH: '/calls',
    ANSWER_WITHIN_MS: '4500',
    CALLING_TIMEOUT_S: '60',
    CALLS_MAX: '1',
    DEFAULT_MEDIA: '{"audio_rate":16000,"audio_channels":2,"down_video_mt":"mjpeg","msg_room_id":"x"}',
  });
  const { origin, host, port, path, answerWithinMs, callMsMax, callsMax, defaultMedia } = settings;
  assert.deepEqual([origin, host, port, path], ['https://reveille.example', '[::1]', 0, '/calls']);
  assert.deepEqual([answerWithinMs, callMsMax, callsMax], [4500, 60_000, 1]);
  assert.deepEqual(defaultMedia, { audio_rate: 16_000, audio_channels: 2, down_video_mt: 'mjpeg' });
});

const wrong: readonly (readonly [name: string, value: string])[] = [
  ...Object.keys(needed).map((name) => [name, ''] as const),
  ['API_ORIGIN', '127.0.0.1:8080'],
  ['API_ORIGIN', 'http://'],
  ['PUSH_AES_KEY', 'planted-key'],
  ['PUSH_LISTEN', '8070'],
  ['PUSH_LISTEN', 'localhost:65536'],
  ['ANSWER_WITHIN_MS', '4501'],
  ['ANSWER_WITHIN_MS', '3e3'],
  ['CALLING_TIMEOUT_S', '0'],
  ['CALLING_TIMEOUT_S', '601'],
  ['CALLS_MAX', '-1'],
  ['DEFAULT_MEDIA', 'mjpeg'],
  ['DEFAULT_MEDIA', 'null'],
  ['DEFAULT_MEDIA', '{"audio_rate":"8000","audio_channels":1}'],
];

for (const [name, value] of wrong)
  test(`${name}=${value} is refused by its name, with the usage and without a secret`, () => {
    assert.throws(
      () => readSettings({ ...needed, [name]: value }),
      (error: unknown) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, new RegExp(`^${name} (?:is missing|must )`));
        assert.match(error.message, /\nEnvironment:\n {2}API_ORIGIN/);
        assert.doesNotMatch(error.message, /planted/);
        return true;
      },
    );
  });
