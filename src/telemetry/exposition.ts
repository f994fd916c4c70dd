/** What Prometheus reads, whoever makes it. */
export interface Exposition {
  readonly contentType: string;
  /** The whole text of a scrape. */
  expose(): Promise<string>;
}
