/**
 * One keep-alive connection of the load generator. It only sends bytes and finds the end of the response by its
 * Content-Length, because the generator must cost less than the server. One request at a time, no pipelining.
 */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

export interface HttpAnswer {
  readonly status: number;
  /** Head and body. */
  readonly text: string;
}

/** Shared by all connections, because responses are processed at once. */
const readBuffer = Buffer.alloc(64 * 1024);
const statusStart = 'HTTP/1.1 '.length;
const contentLength = /\r\ncontent-length: (\d+)/i;

export class HttpConnection {
  readonly #socket: Socket;
  #held = '';
  #answered: (answer: HttpAnswer) => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;

  private constructor(port: number) {
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (length) => {
          this.#received(readBuffer.toString('latin1', 0, length));
          return true;
        },
      },
    });
  }

  static async open(port: number): Promise<HttpConnection> {
    const connection = new HttpConnection(port);
    await once(connection.#socket, 'connect');
    connection.#socket.on('error', (error) => connection.#failed(error));
    connection.#socket.on('end', () => connection.#failed(new Error('the server closed a connection')));
    return connection;
  }

  static openMany(port: number, count: number): Promise<HttpConnection[]> {
    return Promise.all(Array.from({ length: count }, () => HttpConnection.open(port)));
  }

  /** Sets the callbacks of responses and of the connection's end. */
  listen(answered: (answer: HttpAnswer) => void, failed: (error: Error) => void): void {
    this.#answered = answered;
    this.#failed = failed;
  }

  send(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#failed = () => undefined;
    this.#socket.destroy();
  }

  #received(chunk: string): void {
    const text = this.#held + chunk;
    const bodyStart = text.indexOf('\r\n\r\n') + 4;
    const length = bodyStart < 4 ? undefined : contentLength.exec(text)?.[1];
    if (length === undefined || text.length < bodyStart + Number(length)) {
      this.#held = text;
      return;
    }
    this.#held = '';
    this.#answered({ status: Number(text.slice(statusStart, statusStart + 3)), text });
  }
}
