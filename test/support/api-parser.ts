/**
 * Detects the HTTP parser of the installed uWebSockets.js. Versions before the fix of August 2024 answer 505 when a request
 * line is split at certain bytes; for later ones the tests require conformance to HTTP. See docs/proxy.md.
 */
import { RawPeer } from './raw-peer.ts';
import { everyServer } from './test-server.ts';

/** Exceptions to "the answer does not depend on how a request is split": these splits, and a split at every byte. */
export const cutsRefusedByOldParser = {
  status: '505',
  /** `bytes`: length of the first segment. Matches splits after the space behind the method, and anywhere in `HTTP/1.1` CR LF. */
  includes(request: string, bytes: number): boolean {
    const line = request.slice(0, request.indexOf('\r\n'));
    const version = line.lastIndexOf(' ') + 1;
    return bytes === line.indexOf(' ') + 1 || (bytes >= version && bytes < line.length + 2);
  },
};

/** True: the parser behind the port has the bug. */
export async function hasOldParser(port: number): Promise<boolean> {
  const peer = await RawPeer.connect(port);
  peer.send('GET ');
  await readBefore(port);
  peer.send('/nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
  const status = (await peer.read(12)).slice(9);
  peer.socket.destroy();
  return status === cutsRefusedByOldParser.status;
}

/**
 * Resolves when the server in this process has read everything sent before: it has answered two requests, one after the other,
 * each on a connection opened after those bytes. With two fronts the kernel chooses the one that answers: of 24 requests each
 * front answers two, except once in 300 000 runs.
 */
export async function readBefore(port: number): Promise<void> {
  const count = everyServer.fronts > 0 ? 24 : 2;
  for (let asked = 0; asked < count; asked += 1) {
    const peer = await RawPeer.connect(port, '127.0.7.1');
    peer.send('GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    await peer.read(12);
    peer.socket.destroy();
  }
}
