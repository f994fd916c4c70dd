/**
 * The parser of the API, in the binary of uWebSockets.js that is installed. Until its mend of August 2024 it answers 505 when a
 * request line is cut at certain bytes; where it is mended, tests require what HTTP does. See docs/proxy.md.
 */
import { RawPeer } from './raw-peer.ts';
import { everyServer } from './test-server.ts';

/** The one exception from "a request is answered alike however it is cut": these cuts, and a cut at every byte. */
export const cutsRefusedByOldParser = {
  status: '505',
  /** `bytes`: those of the first segment. Behind the space after the method, and anywhere in `HTTP/1.1` CR LF. */
  includes(request: string, bytes: number): boolean {
    const line = request.slice(0, request.indexOf('\r\n'));
    const version = line.lastIndexOf(' ') + 1;
    return bytes === line.indexOf(' ') + 1 || (bytes >= version && bytes < line.length + 2);
  },
};

/** True: the parser behind the port has the fault. */
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
 * Resolves when the server in this process has read what was sent to it before: it has answered two requests, one after the
 * other, each on a connection that came later than those bytes. With two fronts the kernel chooses the one that answers: of 24
 * requests each answers two, but for one time in 300 000.
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
