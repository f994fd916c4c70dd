/** Call credentials as the story shows them: the session can be told, the token is a secret while the call lives. */
import type { CallCredentialsData } from '../../client/reveille-client.ts';

const tokenCharactersShown = 8;

/** Of the peer id what names the call, of the token what every token begins with. */
export function showCredentials({ peer_id, token }: CallCredentialsData): CallCredentialsData {
  const [place = ''] = peer_id.split('?', 1);
  return {
    peer_id: `${place}?…&x_session=${sessionOf(peer_id)}`,
    token: `${token.slice(0, tokenCharactersShown)}…`,
  };
}

/** Below a step of the story. */
export function credentialLines(credentials: CallCredentialsData): string[] {
  const { peer_id: peerId, token } = showCredentials(credentials);
  return [`  peer_id  ${peerId}`, `  token    ${token}`];
}

/** Empty: the peer id names none. */
export function sessionOf(peerId: string): string {
  return new URL(peerId).searchParams.get('x_session') ?? '';
}
