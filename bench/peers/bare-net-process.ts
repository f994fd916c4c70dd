/** Bare node:net: accepts and keeps sockets. It sends nothing, and discards received data. */
import { answerAsPeer, Arrivals, type PeerPorts } from './answer-as-peer.ts';
import { keepSockets } from './device-listener.ts';

const arrivals = new Arrivals();

function onData(): void {}

async function listen(): Promise<PeerPorts> {
  return { httpPort: 0, devicePort: await keepSockets(onData, () => arrivals.add()) };
}

answerAsPeer(listen, arrivals);
