/** Requests as bytes, so that a test chooses the connection of each. */
import { connect } from 'node:net';
import { signRequest, type UnsignedRequest } from '../../src/protocol/tgv1/sign-request.ts';

/** Encodes a signed request; a connectivity query unless `change` overrides it. */
export function encodeRequest(
  change: Pick<UnsignedRequest, 'credential'> & Partial<UnsignedRequest>,
): Buffer {
  const signed = {
    method: 'GET',
    path: '/v1/device/connectivity',
    rawQuery: '',
    body: null,
    headerSet: 'short',
    atMs: Date.now(),
    ...change,
  } as const;
  const { method, path, rawQuery, body } = signed;
  const length = body === null ? {} : { 'Content-Length': `${body.length}` };
  const lines = Object.entries({ Host: 'a', ...length, ...signRequest(signed) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const target = rawQuery === '' ? path : `${path}?${rawQuery}`;
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`),
    body ?? Buffer.alloc(0),
  ]);
}

/** A wakeup of 60 kB with a well-formed, wrong signature. */
export function wrongRequest(credential: UnsignedRequest['credential'], n: number): Buffer {
  return encodeRequest({
    credential: { ...credential, secretKey: `not the secret ${n}` },
    method: 'POST',
    path: '/v1/device/wakeup-request',
    body: Buffer.alloc(60_000, `${n} `),
  });
}

/** Sends bytes on a new connection and resolves to the status of the first answer; null: the server closed without one. */
export async function statusOf(
  port: number,
  localAddress: string,
  bytes: string | Buffer,
): Promise<string | null> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }, () => socket.write(bytes));
  let text = '';
  await new Promise<void>((done) => {
    socket.on('error', () => undefined).on('close', () => done());
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\r\n\r\n')) done();
    });
  });
  socket.destroy();
  return /^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? null;
}
