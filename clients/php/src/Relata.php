<?php

declare(strict_types=1);

namespace Relata;

use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/** A client of one installation with one API key. */
final class Relata
{
    public readonly Products $products;
    public readonly Relations $relations;
    public readonly Tasks $tasks;
    private readonly Transport $transport;

    /**
     * @param string $url the address of the installation, such as https://relata.example
     * @param ClientInterface $http any PSR-18 client; it sets the timeout, which must be over 60 seconds
     * @param int $retries how often a request is repeated after a temporary error
     */
    public function __construct(
        string $url,
        string $key,
        ClientInterface $http,
        RequestFactoryInterface $requests,
        StreamFactoryInterface $streams,
        int $retries = 3,
    ) {
        $this->transport = new Transport($url, $key, $http, $requests, $streams, $retries);
        $this->tasks = new Tasks($this->transport);
        $this->products = new Products($this->transport, $this->tasks);
        $this->relations = new Relations($this->transport);
    }

    /**
     * Any other operation (docs/openapi.json), such as call('GET', '/management/projects').
     *
     * @param array<string, mixed> $query
     * @return mixed the answer, decoded
     * @throws RelataException
     */
    public function call(
        string $method,
        string $path,
        array $query = [],
        mixed $body = null,
        ?string $idempotencyKey = null,
    ): mixed {
        $sent = $body === null ? null : Body::of($body);

        return $method === 'GET'
            ? $this->transport->read($method, $path, $query, $sent)
            : $this->transport->write($method, $path, $query, $sent, $idempotencyKey);
    }
}
