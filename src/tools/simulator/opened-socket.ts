/** The opening and the end of a WebSocket, as both kinds of connection of a simulated device see them. */
import type { WebSocket } from 'ws';

export interface SocketClosed {
  /** 1006: closed without a close frame. */
  readonly code: number;
  readonly reason: string;
}

/**
 * Resolves when the upgrade is accepted. Rejects with the socket's error if the server is unreachable, with `refusal` if it answers
 * otherwise: `code` is the HTTP status, `reason` the body.
 */
export function opening(socket: WebSocket, refusal: (answer: SocketClosed) => Error): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.on('open', resolve);
    // After the upgrade, `close` follows every error and reports the end.
    socket.on('error', reject);
    socket.on('unexpected-response', (request, response) => {
      let reason = '';
      response.on('data', (chunk: Buffer) => (reason += chunk.toString('latin1')));
      response.on('end', () => {
        reject(refusal({ code: response.statusCode ?? 0, reason }));
        request.destroy();
      });
    });
  });
}
