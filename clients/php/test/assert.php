<?php

declare(strict_types=1);

require_once __DIR__ . '/autoload.php';

use GuzzleHttp\Client;
use GuzzleHttp\Psr7\HttpFactory;
use Relata\Relata;

function same(mixed $expected, mixed $actual, string $what): void
{
    if ($expected !== $actual) {
        throw new RuntimeException("$what: " . json_encode($actual) . ' is not ' . json_encode($expected));
    }
}

/** @return Throwable what is thrown */
function caught(callable $work): Throwable
{
    try {
        $work();
    } catch (Throwable $error) {
        return $error;
    }
    throw new RuntimeException('nothing was thrown');
}

function connect(): Relata
{
    $factory = new HttpFactory();

    return new Relata((string) getenv('RELATA_URL'), (string) getenv('RELATA_API_KEY'), new Client(), $factory, $factory);
}

/**
 * Prints ok or the failure of each test, one test per line.
 *
 * @param array<string, callable(Relata, int): void> $tests
 */
function run(array $tests): void
{
    set_error_handler(static function (int $level, string $message): never {
        throw new ErrorException($message, 0, $level);
    });
    $chosen = getenv('RELATA_TEST');
    foreach ($chosen === false ? $tests : [$chosen => $tests[$chosen]] as $name => $test) {
        try {
            $test(connect(), (int) getenv('RELATA_PROJECT'));
            echo "ok $name\n";
        } catch (Throwable $error) {
            echo "not ok $name: ", str_replace("\n", ' ', (string) $error), "\n";
        }
    }
}
