/** Counts the requests that go to an HTTP server, and passes them on as they are: the host that was signed stays in them. */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';

export interface CountingProxy {
  readonly url: string;
  requests(): number;
  close(): void;
}

export async function openCountingProxy(target: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });
  let requests = 0;
  const server = createServer((incoming, response) => {
    requests++;
    const { method, url, rawHeaders } = incoming;
    const outgoing = request({ hostname, port, path: url, method, headers: rawHeaders, agent, setHost: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests: () => requests,
    close() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}
