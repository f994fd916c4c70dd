/** Links to the pictures of a call, as a browser opens them. */
/** Opens once, by its ticket. `picture`: what the bridge sends, or what the device is sent, which it is when left out. */
export function pictureLink(origin: string, ticket: string, picture?: 'source' | 'output'): string {
  const query = new URLSearchParams({ ticket, ...(picture !== undefined && { picture }) });
  return `${origin}/media/v1/downlink.mjpeg?${query.toString()}`;
}
