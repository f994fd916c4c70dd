/** What a module's login costs before it is admitted: the line, and its proof. */
import type { Bench } from 'tinybench';
import { computeLoginMac, encodeLoginLine, LoginLineDecoder } from '../../src/protocol/sleep/login-line.ts';
import { generateSessionKey } from '../../src/lib/session-key.ts';

const lines = 1000;

export async function register(bench: Bench): Promise<() => Promise<void>> {
  const logins = Array.from({ length: lines }, (_, i) => {
    const sessionKey = generateSessionKey();
    const secret = `secret of ${i}`;
    const credentials = {
      deviceId: `DEVICE-${i}`,
      secret,
      wakeMode: 'custom' as const,
      heartbeatSeconds: 50,
      wantsReply: false,
    };
    const text = encodeLoginLine(credentials, sessionKey);
    return {
      sessionKey,
      secret,
      line: Buffer.from(text, 'latin1'),
      signedText: text.split(' ').slice(0, 5).join(' '),
    };
  });
  let next = 0;
  const nextLogin = (): (typeof logins)[number] => {
    next = (next + 1) % lines;
    const login = logins[next];
    if (login === undefined) throw new Error('there is always a next login');
    return login;
  };
  bench.add('login: decode the line, whole in one chunk', () => {
    if (new LoginLineDecoder().feed(nextLogin().line).kind !== 'login')
      throw new Error('the line was not read');
  });
  bench.add('login: the proof', () => {
    const { secret, sessionKey, signedText } = nextLogin();
    computeLoginMac(secret, sessionKey, signedText);
  });
  bench.add('login: a session key', () => {
    generateSessionKey();
  });
  return async () => undefined;
}
