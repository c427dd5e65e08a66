<?php

declare(strict_types=1);

namespace Relata;

use Generator;
use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\StreamInterface;
use RuntimeException;

/** The connection to the service: addresses, credentials, repetitions, refusals. */
final class Transport
{
    private const FIRST_PAUSE_SECONDS = 0.25;
    private const LONGEST_PAUSE_SECONDS = 60;
    private const CHUNK_BYTES = 65_536;

    private readonly string $base;

    public function __construct(
        string $url,
        private readonly string $key,
        private readonly ClientInterface $http,
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
        private readonly int $retries,
    ) {
        $this->base = rtrim($url, '/');
    }

    /**
     * A call that changes nothing, even if it is a POST.
     *
     * @param array<string, mixed> $query
     */
    public function read(string $method, string $path, array $query = [], ?Body $body = null): mixed
    {
        return $this->readJson($this->build($method, $path, $query, $body), $body);
    }

    /**
     * A change. It is done once however often it is sent, because every repetition carries the same idempotency key.
     *
     * @param array<string, mixed> $query
     */
    public function write(
        string $method,
        string $path,
        array $query = [],
        ?Body $body = null,
        ?string $idempotencyKey = null,
    ): mixed {
        $request = $this->build($method, $path, $query, $body);
        $key = $idempotencyKey ?? bin2hex(random_bytes(16));

        return $this->readJson($request->withHeader('Idempotency-Key', $key), $body);
    }

    /**
     * The values of an NDJSON answer as they arrive.
     *
     * @param array<string, mixed> $query
     * @return Generator<int, array<string, mixed>>
     */
    public function lines(string $path, array $query = []): Generator
    {
        $request = $this->build('GET', $path, $query, null);
        $body = $this->repeat(fn (): ResponseInterface => $this->attempt($request, null))->getBody();
        $rest = '';
        while (!$body->eof()) {
            $lines = explode("\n", $rest . self::readChunk($body));
            $rest = (string) array_pop($lines);
            foreach ($lines as $line) {
                if (trim($line) !== '') {
                    yield self::decode($line);
                }
            }
        }
        if (trim($rest) !== '') {
            yield self::decode($rest);
        }
    }

    private static function readChunk(StreamInterface $body): string
    {
        try {
            return $body->read(self::CHUNK_BYTES);
        } catch (RuntimeException $error) {
            throw RelataException::unreachable($error);
        }
    }

    /** @param array<string, mixed> $query */
    private function build(string $method, string $path, array $query, ?Body $body): RequestInterface
    {
        $request = $this->requests
            ->createRequest($method, $this->base . $path . self::toQuery($query))
            ->withHeader('Authorization', "Bearer $this->key");
        if ($body === null) {
            return $request;
        }
        $request = $request->withHeader('Content-Type', 'application/json');

        return $body->isPacked ? $request->withHeader('Content-Encoding', 'gzip') : $request;
    }

    private function readJson(RequestInterface $request, ?Body $body): mixed
    {
        // The answer is read within the attempt, because a connection can break in the middle of it.
        $text = $this->repeat(fn (): string => (string) $this->attempt($request, $body)->getBody());

        return self::decode($text);
    }

    private static function decode(string $text): mixed
    {
        try {
            return json_decode($text, true, flags: JSON_THROW_ON_ERROR);
        } catch (\JsonException $error) {
            throw RelataException::unusable('The answer is not JSON', $error);
        }
    }

    /**
     * @template Answer
     * @param callable(): Answer $send
     * @return Answer
     */
    private function repeat(callable $send): mixed
    {
        for ($repetition = 1;; $repetition += 1) {
            try {
                return $send();
            } catch (RelataException $error) {
                $failure = $error;
            } catch (ClientExceptionInterface | RuntimeException $error) {
                // Includes RequestExceptionInterface, which Guzzle throws for a broken connection.
                $failure = RelataException::unreachable($error);
            }
            if ($repetition > $this->retries || !$failure->isPassing()) {
                throw $failure;
            }
            usleep((int) (1_000_000 * self::pauseBefore($repetition, $failure->retryAfterSeconds)));
        }
    }

    /** The wait that the service names, else twice as long each time, with a random part so that callers spread out. */
    private static function pauseBefore(int $repetition, ?int $retryAfterSeconds): float
    {
        if ($retryAfterSeconds !== null) {
            return min($retryAfterSeconds, self::LONGEST_PAUSE_SECONDS);
        }
        $longest = min(self::FIRST_PAUSE_SECONDS * 2 ** ($repetition - 1), self::LONGEST_PAUSE_SECONDS);

        return $longest / 2 + mt_rand() / mt_getrandmax() * $longest / 2;
    }

    /** Each attempt has its own stream, because a sent stream is at its end. */
    private function attempt(RequestInterface $request, ?Body $body): ResponseInterface
    {
        $sent = $body === null ? $request : $request->withBody($this->streams->createStream($body->bytes));
        $response = $this->http->sendRequest($sent);
        $status = $response->getStatusCode();
        if ($status >= 200 && $status < 300) {
            return $response;
        }
        $after = $response->getHeaderLine('Retry-After');

        throw RelataException::refused(
            $status,
            (string) $response->getBody(),
            ctype_digit($after) ? (int) $after : null,
        );
    }

    /**
     * Lists are JSON in a query, and null is omitted.
     *
     * @param array<string, mixed> $query
     */
    private static function toQuery(array $query): string
    {
        $given = array_filter($query, static fn (mixed $value): bool => $value !== null);
        $texts = array_map(
            static fn (mixed $value): string => is_string($value) ? $value : (string) json_encode($value),
            $given,
        );

        return $texts === [] ? '' : '?' . http_build_query($texts, encoding_type: PHP_QUERY_RFC3986);
    }
}
