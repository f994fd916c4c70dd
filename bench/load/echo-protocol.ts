/** Questions to the process that holds the server's ends of legs and sends back what comes. */
export const echoService = 'echo';

export type EchoProtocol = {
  /** Gives the port of its WebSockets. */
  listen: { take: null; give: number };
  /** An offer in SDP; gives the answer. */
  answer: { take: string; give: string };
  /** Seconds of processor time that the process has taken, and its resident bytes. */
  spent: { take: null; give: { readonly cpuSeconds: number; readonly bytes: number } };
};
