/** The opening and the end of a WebSocket, as both kinds of connection of a simulated device see them. */
import type { WebSocket } from 'ws';

export interface SocketClosed {
  /** 1006: closed without a close frame. */
  readonly code: number;
  readonly reason: string;
}

/**
 * Calls `failed` at once with the socket's error if the server is unreachable, with `refusal` if it answers the upgrade otherwise:
 * `code` is the HTTP status, `reason` the body. After the upgrade, `close` follows every error and reports the end.
 */
export function onFailedOpening(
  socket: WebSocket,
  refusal: (answer: SocketClosed) => Error,
  failed: (error: Error) => void,
): void {
  socket.on('error', failed);
  socket.on('unexpected-response', (request, response) => {
    let reason = '';
    response.on('data', (chunk: Buffer) => (reason += chunk.toString('latin1')));
    response.on('end', () => {
      failed(refusal({ code: response.statusCode ?? 0, reason }));
      request.destroy();
    });
  });
}
