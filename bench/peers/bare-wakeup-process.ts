/**
 * The minimum that can wake a device: a uWebSockets.js POST handler that reads the device's name from the body and writes 8 bytes
 * to its node:net socket, found in a Map. No signatures, limits, repeats or records; it answers without waiting for the write.
 * Devices send their name in a line, without proof.
 */
import type { Socket } from 'node:net';
import { ListeningApps, type HttpResponse } from '../../src/lib/uws.ts';
import { answerAsPeer, Arrivals, type PeerPorts } from './answer-as-peer.ts';
import { listenForDevices } from './device-listener.ts';

const packet = Buffer.from('983b16f8f39c0000', 'hex');
const arrivals = new Arrivals();
const sockets = new Map<string, Socket>();

function ignore(): void {}

function accept(socket: Socket): void {
  socket.once('data', (line: Buffer) => {
    sockets.set(line.toString('latin1').trimEnd(), socket);
    socket.on('data', ignore);
    arrivals.add();
  });
  socket.on('error', () => socket.destroy());
}

function wake(response: HttpResponse): void {
  let open = true;
  response.onAborted(() => {
    open = false;
  });
  const chunks: Buffer[] = [];
  response.onData((chunk, isLast) => {
    chunks.push(Buffer.from(chunk.slice(0)));
    if (!isLast || !open) return;
    const { device_id: deviceId }: { device_id: string } = JSON.parse(Buffer.concat(chunks).toString());
    const socket = sockets.get(deviceId);
    socket?.write(packet);
    response.cork(() => {
      response.writeStatus(socket === undefined ? '404 Not Found' : '202 Accepted');
      response.writeHeader('content-type', 'application/json; charset=utf-8');
      response.end(JSON.stringify({ code: socket === undefined ? 40412 : 0, message: 'success' }), false);
    });
  });
}

async function listen(): Promise<PeerPorts> {
  const at = { host: '127.0.0.1', port: 0, tls: null, sharesPort: false };
  const apps = new ListeningApps(at, (app) => void app.post('/v1/device/wakeup-request', wake));
  await apps.listen();
  return { httpPort: apps.port, devicePort: await listenForDevices(accept) };
}

answerAsPeer(listen, arrivals);
